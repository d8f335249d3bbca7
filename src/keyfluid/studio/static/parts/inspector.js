// Every key of a scene with unit, default and help, made from the schema; a table for each body.
import { get } from "../api.js";
import { html, nothing, render } from "../vendor/lit-html/lit-html.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { keyRow } from "./key_row.js";
import { dimension, entriesOf, kindOf, shortWords, startsOf, valueAt, within } from "./scene_paths.js";

let schema = null;
const ADD = [["keyframe", "Keyframe"], ["start", "Start"], ["source", "Source"], ["obstacle", "Obstacle"], ["wind", "Wind"]];
const MASKED = /^(keyframe|flow|wind)\[\d+\]$/;
const SUFFIXES = {
  image: /\.(png|jpe?g|webp|bmp|gif|tiff?)$/i, mesh: /\.(obj|ply|stl|gltf|glb)$/i, vdb: /\.vdb$/i, npy: /\.npy$/i,
};

/** `select(id)` opens a body's table, `reveal(path)` shows a key; fires "select" with {id}. */
export class Inspector extends EventTarget {
  #open = new Set(["domain", "time", "control"]);
  #all = false;
  #search = "";

  constructor(host, state, app) {
    super();
    Object.assign(this, { state, app, selected: null });
    this.element = document.createElement("div");
    this.element.className = "inspector";
    host.append(this.element);
    this.update = this.update.bind(this);
    state.addEventListener("change", this.update);
    this.#load();
  }

  async #load() {
    schema ??= await this.app.try(get("schema"));
    this.update();
  }

  leave() { this.state.removeEventListener("change", this.update); }

  select(id) {
    if (id === this.selected) return;
    this.selected = id;
    if (id) this.#open.add(id);
    this.update();
    if (id) this.element.querySelector(`[data-id="${CSS.escape(id)}"]`)?.scrollIntoView({ block: "nearest" });
  }

  /** Open the table of a key and put the focus on it. */
  reveal(path) {
    const group = this.#groups().findLast(({ id }) => id === "" || within(path, id));
    if (!group) return;
    this.#open.add(group.id);
    this.#all = true;
    this.update();
    const key = path.split(".").at(-1).replace(/\[\d+\]$/, "");
    const place = this.element.querySelector(`[data-id="${CSS.escape(group.id)}"]`);
    (place?.querySelector(`[data-key="${CSS.escape(key)}"] :is(input, select)`) ?? place)?.focus();
    place?.scrollIntoView({ block: "nearest" });
  }

  update() {
    if (!schema) return;
    const groups = this.#groups();
    const words = this.#search.trim().toLowerCase();
    render(html`
      <div class="inspector-bar row">
        <input id="inspector-search" type="search" class="grow" placeholder="Find a key" aria-label="Find a key"
          .value=${this.#search} @input=${(event) => { this.#search = event.target.value; this.update(); }}>
        <label class="row"><input type="checkbox" data-do="all-keys" .checked=${this.#all}
          @change=${(event) => { this.#all = event.target.checked; this.update(); }}>All keys</label>
      </div>
      <div class="inspector-bar row"><span class="quiet">Add</span>${ADD.map(([kind, title]) => html`
        <button data-do="add-${kind}" @click=${() => this.add(kind)}>${title}</button>`)}</div>
      ${repeat(groups, ({ id }) => id, (group) => this.#group(group, words))}`, this.element);
  }

  /** A table more of this kind, where it does no harm. */
  async add(kind, values = {}) {
    const { data } = this.state;
    const list = kind === "start" ? startsOf(data) : kind;
    const three = dimension(data) === 3;
    const size = data?.domain?.size ?? [1, 1];
    const center = size.map((side) => side / 2);
    const small = Math.round(100 * Math.min(...size)) / 1000;
    const body = { shape: three ? "sphere" : "disk", center, radius: small };
    const table = {
      keyframe: { frame: Math.round((data?.time?.frames ?? 40) / 2), ...body }, start: body, source: body,
      obstacle: body, wind: { velocity: center.map((_, axis) => (axis === 0 ? 0.5 : 0)) },
    }[kind];
    const index = entriesOf(data).filter((entry) => entry.list === list).length;
    if (await this.state.change([{ path: list, insert: { ...table, ...values } }], `Add ${kind}`)) {
      this.#choose(`${list}[${index}]`);
    }
  }

  #choose(id) {
    this.select(id);
    this.dispatchEvent(new CustomEvent("select", { detail: { id } }));
  }

  /** The tables to show: {id, table, title, words}, bodies before what is set once. */
  #groups() {
    const { data } = this.state;
    if (!data) return [];
    const tables = new Map(schema.tables.map((table) => [table.name, table]));
    const one = (name) => ({ id: name, table: tables.get(name), title: tables.get(name).title, words: "" });
    const bodies = entriesOf(data).flatMap(({ id, list, index, table }) => {
      const title = `${tables.get(list).title} ${index + 1}`;
      const when = table.frame !== undefined ? `frame ${table.frame}` : table.name ?? "";
      const words = [when, shortWords(table)].filter(Boolean).join(" · ");
      const own = { id, table: tables.get(list), title, body: table, words };
      const mask = { id: `${id}.mask`, table: tables.get("mask"), title: `Mask of ${title.toLowerCase()}`, body: table.mask,
        words: shortWords(table.mask) };
      return table.mask ? [own, mask] : [own];
    });
    const three = dimension(data) === 3 ? [one("camera"), one("light")] : [];
    return [
      one(""), one("domain"), one("time"), one("control"), ...bodies, one(data.liquid ? "liquid" : "smoke"),
      ...(data.edit ? [one("edit")] : []), ...(data.liquid ? [] : [one("upres")]), one("simulation"), ...three, one("output"),
    ];
  }

  #group(group, words) {
    const faults = this.state.faults.filter(({ path }) => path && (group.id ? within(path, group.id) : !/[.[]/.test(path)));
    const keys = this.#keys(group, words);
    if (words && !keys.length) return nothing;
    const open = Boolean(words) || this.#open.has(group.id);
    return html`<details class=${`group ${group.id === this.selected ? "chosen" : ""}`} data-id=${group.id} .open=${open}
        tabindex="-1">
      <summary @click=${(event) => this.#toggle(event, group)}><b>${group.title}</b> <span class="quiet">${group.words}</span>
        ${faults.length ? html`<span class="bad">${faults.length} ${faults.length > 1 ? "faults" : "fault"}</span>` : nothing}
      </summary>
      ${open ? html`<div class="keys-of">
        ${faults.filter(({ path }) => within(group.id, path)).map(({ message }) => html`<p class="bad">${message}</p>`)}
        ${group.body && kindOf(group.body) ? this.#kind(group) : nothing}
        ${keys.map((key) => keyRow(key, this.#place(group, key), this.state))}
        ${group.body ? html`<div class="row end">
          ${MASKED.test(group.id) && !group.body.mask ? html`<button data-do="add-mask"
            title="Only a region counts" @click=${() => this.#mask(group)}>Add mask</button>` : nothing}
          ${/\]$/.test(group.id) ? html`<button data-do="duplicate-body" @click=${() => this.#duplicate(group)}>Duplicate</button>` : nothing}
          <button data-do="delete-body" @click=${() => this.#remove(group)}>Delete</button></div>` : nothing}
      </div>` : nothing}
    </details>`;
  }

  #place(group, key) {
    return group.id ? `${group.id}.${key.key}` : key.key;
  }

  #toggle(event, group) {
    event.preventDefault();
    if (this.#open.has(group.id)) this.#open.delete(group.id);
    else this.#open.add(group.id);
    if (group.body) this.#choose(group.id);
    this.update();
  }

  #keys({ id, table, body }, words) {
    const { data } = this.state;
    const method = data.control?.method ?? "none";
    const kind = kindOf(body);
    const own = new Set(kind === "shape" ? schema.shapes[body.shape] ?? [] : schema.kinds[kind] ?? []);
    const special = new Set(Object.values(schema.kinds).flat());
    const found = table.keys.filter((key) => {
      const value = valueAt(data, id ? `${id}.${key.key}` : key.key);
      if (value !== undefined && typeof value === "object" && !Array.isArray(value)) return false;
      if (key.methods && !key.methods.includes(method)) return false;
      if (value !== undefined) return !words || matches(key, words);
      if (kind && (key.key in schema.kinds || (special.has(key.key) && !own.has(key.key)))) return false;
      if (words) return matches(key, words);
      return this.#all || key.main || own.has(key.key);
    });
    return [...found.filter(({ key }) => key === kind), ...found.filter(({ key }) => key !== kind)];
  }

  #kind({ id, body, table }) {
    const known = Object.keys(schema.kinds).filter((kind) => table.keys.some(({ key }) => key === kind));
    return html`<label class="key"><span class="key-name">made of</span><select data-do="kind"
      @change=${(event) => this.#makeOf(id, body, event.target)}>
      ${known.map((kind) => html`<option value=${kind} .selected=${kind === kindOf(body)}>${kind}</option>`)}</select></label>`;
  }

  async #makeOf(id, body, field) {
    const kind = field.value;
    const file = SUFFIXES[kind] && this.state.files.find((name) => SUFFIXES[kind].test(name));
    const value = { shape: dimension(this.state.data) === 3 ? "sphere" : "disk", text: "A" }[kind] ?? file;
    if (value === undefined) {
      this.app.say(`There is no ${kind} file beside the scene yet; drop one on the stage.`);
      field.value = kindOf(body);
      return;
    }
    const before = kindOf(body);
    const gone = [before, ...(schema.kinds[before] ?? [])].filter((key) => body[key] !== undefined);
    await this.state.change(
      [...gone.map((key) => ({ path: `${id}.${key}`, remove: true })), { path: `${id}.${kind}`, value }], `Make of ${kind}`);
  }

  #duplicate({ id, body, table }) {
    const list = id.replace(/\[\d+\]$/, "");
    const frames = this.state.data.time?.frames ?? 40;
    const values = body.frame === undefined ? {} : { frame: Math.min(body.frame + 4, frames) };
    const plain = Object.fromEntries(Object.entries({ ...body, ...values }).filter(([key]) => key !== "until"));
    return this.state.change([{ path: list, insert: plain }], `Duplicate ${table.title.toLowerCase()}`);
  }

  #mask({ id }) {
    const size = this.state.data.domain?.size ?? [1, 1];
    const value = { shape: "box", center: size.map((side) => side / 2), size: size.map((side) => side / 2) };
    this.#open.add(`${id}.mask`);
    return this.state.change([{ path: `${id}.mask`, value }], "Add mask");
  }

  #remove({ id, table }) {
    this.#choose(null);
    return this.state.change([{ path: id, remove: true }], `Delete ${table.title.toLowerCase()}`);
  }
}

const matches = (key, words) => words.split(/\s+/).every((word) => `${key.path} ${key.help}`.toLowerCase().includes(word));
