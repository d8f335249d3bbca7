// One key of the inspector: its name, unit, an input for its type, and its help.
import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { live } from "../vendor/lit-html/directives/live.js";
import { valueAt, within } from "./scene_paths.js";

/** A row for the key at a path of the scene; changes go to the state. */
export function keyRow(key, path, state) {
  const value = valueAt(state.data, path);
  const fault = state.faults.find((one) => one.path === path || (one.path && within(one.path, path) && within(path, one.path)));
  const set = (written) => change(state, key, path, written, value);
  return html`<label class=${`key ${value === undefined ? "" : "given"}`} data-key=${key.key} title=${key.help}>
    <span class="key-name">${key.key}${key.unit && key.unit !== key.key ? html` <small>${key.unit}</small>` : nothing}</span>
    ${input(key, value, set, state)}
    <small class="key-help">${key.help}</small>
    ${fault ? html`<small class="bad key-fault">${fault.message}</small>` : nothing}
  </label>`;
}

const shown = (value) => (value === undefined || value === null ? ""
  : Array.isArray(value) ? (value.some((item) => typeof item === "object") ? JSON.stringify(value) : value.join(", "))
  : String(value));

function input(key, value, set, state) {
  const usual = key.default === null || key.default === undefined ? "default" : shown(key.default);
  if (key.type === "choice" || key.type === "flag") {
    const choices = key.type === "flag" ? [true, false] : key.choices;
    const words = (choice) => (choice === true ? "yes" : choice === false ? "no" : choice);
    const standard = key.type === "flag" && typeof key.default === "boolean" ? words(key.default) : usual;
    return html`<select .value=${live(shown(value))} @change=${(event) => set(event.target.value)}>
      <option value="" .selected=${value === undefined}>${standard === "default" ? "default" : `default: ${standard}`}</option>
      ${choices.map((choice) => html`<option value=${shown(choice)} .selected=${choice === value}>${words(choice)}</option>`)}
    </select>`;
  }
  const list = key.type === "file" ? state.files : key.choices ?? [];
  const id = `known-${key.path.replaceAll(".", "-")}`;
  return html`<input .value=${live(shown(value))} placeholder=${usual} list=${list.length ? id : nothing} autocomplete="off"
      inputmode=${["number", "integer"].includes(key.type) ? "decimal" : "text"}
      @change=${(event) => set(event.target.value)} @keydown=${(event) => nudge(event, key, set)}>
    ${list.length ? html`<datalist id=${id}>${list.map((word) => html`<option value=${word}></option>`)}</datalist>` : nothing}`;
}

/** Up and Down change a number by a step, ten with Shift. */
function nudge(event, key, set) {
  const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
  if (!way || !["number", "integer"].includes(key.type)) return;
  const now = Number(event.target.value || event.target.placeholder);
  if (!Number.isFinite(now)) return;
  event.preventDefault();
  const step = key.type === "integer" ? 1 : Math.abs(now) >= 10 ? 1 : Math.abs(now) >= 1 ? 0.1 : 0.01;
  set(String(Number((now + way * step * (event.shiftKey ? 10 : 1)).toPrecision(10))));
}

function change(state, key, path, written, before) {
  const value = parse(key, written);
  if (shown(value) === shown(before)) return;
  state.change([value === undefined ? { path, remove: true } : { path, value }], `Set ${key.key}`);
}

/** What was typed, as TOML has it; undefined for the default. Wrong types go through: the fault says what is right. */
export function parse(key, written) {
  const text = written.trim();
  if (text === "") return undefined;
  const number = (word) => (word.trim() !== "" && Number.isFinite(Number(word)) ? Number(word) : word.trim());
  if (key.accepts.includes("flag") && (text === "true" || text === "false")) return text === "true";
  if (key.accepts.includes("list") && text.startsWith("[")) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  if (key.accepts.includes("list") && (text.includes(",") || key.accepts.length === 1)) return text.split(",").map(number);
  const holdsNumbers = ["number", "integer"].some((kind) => key.accepts.includes(kind));
  return holdsNumbers ? number(text) : written;
}
