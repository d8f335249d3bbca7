// A wedge: which keys to try, and which values.
import { html, nothing, render } from "../vendor/lit-html/lit-html.js";

const OFTEN = ["domain.resolution", "smoke.buoyancy", "smoke.vorticity", "control.iterations", "time.steps_per_frame", "seed"];
const MOST = 64;

/** Ask for the keys and values; resolves to {wedge: ["key=a,b"], set: [...]}, or null if it was left. */
export function askWedge(data) {
  const dialog = document.createElement("dialog");
  dialog.className = "wedge-dialog";
  const rows = [{ key: "", values: "" }];
  let half = false;
  return new Promise((resolve) => {
    const draw = () => {
      const whole = rows.filter((row) => row.key.trim() && row.values.trim());
      const count = whole.reduce((product, row) => product * valuesIn(row.values).length, 1);
      const fine = whole.length > 0 && count >= 2 && count <= MOST;
      render(html`<form method="dialog" @submit=${(event) => { event.preventDefault(); if (fine) finish(whole); }}>
        <h2>Wedge</h2>
        <p class="quiet">Runs the scene with every combination of these values and compares the films.</p>
        <datalist id="wedge-keys">${keysIn(data).map((key) => html`<option value=${key}></option>`)}</datalist>
        ${rows.map((row, place) => html`<div class="row wedge-row">
          <label>Key <input data-id="wedge-key-${place}" list="wedge-keys" placeholder="smoke.buoyancy" .value=${row.key}
            @input=${(event) => { row.key = event.target.value; draw(); }}></label>
          <label class="grow">Values <input data-id="wedge-values-${place}" placeholder="0, 0.5, 1" .value=${row.values}
            @input=${(event) => { row.values = event.target.value; draw(); }}></label>
          ${rows.length > 1 ? html`<button type="button" class="plain" title="Remove this key" aria-label="Remove this key"
            @click=${() => { rows.splice(place, 1); draw(); }}>✕</button>` : nothing}</div>`)}
        <button type="button" data-do="wedge-more" ?disabled=${rows.length > 2}
          @click=${() => { rows.push({ key: "", values: "" }); draw(); }}>Add a key</button>
        <label class="row"><input type="checkbox" data-id="wedge-half" .checked=${half}
          @change=${(event) => { half = event.target.checked; draw(); }}> Half the resolution, for a quick look</label>
        <div class="row"><span class="grow ${count > MOST ? "bad" : "quiet"}">${whole.length === 0 ? "Give a key and at least two values."
          : count > MOST ? `${count} runs; at most ${MOST} are allowed.` : count < 2 ? "Give at least two values, with commas between them." : `${count} runs`}</span>
          <button type="button" @click=${() => dialog.close()}>Cancel</button>
          <button class="main" data-do="wedge-run" ?disabled=${!fine}>Run all</button></div></form>`, dialog);
    };
    const finish = (whole) => {
      const resolution = data?.domain?.resolution ?? 64;
      resolve({
        wedge: whole.map((row) => `${row.key.trim()}=${valuesIn(row.values).join(",")}`),
        set: half ? [`domain.resolution=${Math.max(16, Math.floor(resolution / 2))}`] : [],
      });
      dialog.close();
    };
    draw();
    dialog.addEventListener("close", () => { dialog.remove(); resolve(null); });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** At commas outside of brackets and quotes, as `keyfluid wedge` reads them. */
export function valuesIn(text) {
  const parts = [""];
  let depth = 0;
  let quoted = false;
  for (const letter of text) {
    if (letter === '"') quoted = !quoted;
    if (!quoted && "[{".includes(letter)) depth += 1;
    if (!quoted && "]}".includes(letter)) depth -= 1;
    if (letter === "," && depth === 0 && !quoted) parts.push("");
    else parts[parts.length - 1] += letter;
  }
  return parts.map((part) => part.trim()).filter(Boolean);
}

/** Keys that the scene has, and some that are often tried. */
function keysIn(data) {
  const found = new Set(OFTEN);
  const walk = (node, path) => {
    if (Array.isArray(node) && typeof node[0] === "object") node.forEach((entry, place) => walk(entry, `${path}[${place}]`));
    else if (node !== null && typeof node === "object" && !Array.isArray(node)) {
      for (const [key, value] of Object.entries(node)) walk(value, path ? `${path}.${key}` : key);
    } else if (path) found.add(path);
  };
  walk(data ?? {}, "");
  return [...found];
}
