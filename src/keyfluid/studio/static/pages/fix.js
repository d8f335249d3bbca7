// Fixing a finished run: choose a frame, paint on it, deform it or paint its picture, then write the edit and run it.
import { arrays, events, get, post } from "../api.js";
import { keys } from "../keys.js";
import { Deform } from "../parts/deform.js";
import { Paint } from "../parts/paint.js";
import { WindowBar } from "../parts/window_bar.js";
import { html, render } from "../vendor/lit-html/lit-html.js";

const TOOLS = {
  2: { paint: "Paint", deform: "Move, bend" },
  3: { deform: "Move, twist, bend", picture: "Paint a view" },
};
const VIEWS = ["+z", "-z", "+x", "-x", "+y", "-y"];
const ENDED = ["finished", "failed", "stopped", "lost"];

const base64 = async (blob) => {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
};

export class Page {
  #paint = null;
  #deform = null;
  #asked = 0;
  #touched = false;
  #kept = new Map();
  #job = null;
  #endings = [];

  constructor(root, app) { Object.assign(this, { root, app }); }
  get title() { return this.about ? `fix ${this.run}` : "fix"; }

  async show({ run, frame }) {
    this.run = run ?? "";
    this.about = await get("edit", { run: this.run });
    this.tool = Object.keys(TOOLS[this.about.dim])[0];
    this.view = "+z";
    this.field = this.about.fields[0];
    this.name = `${this.run.split("/").at(-1)}-edit`;
    this.page = document.createElement("div");
    this.page.className = "fix";
    this.root.replaceChildren(this.page);
    this.#draw();
    this.page.querySelector(".fix-stage").addEventListener("paint", () => {
      this.#touched = true;
      this.#draw();
    });
    this.bar = new WindowBar(this.page.querySelector(".fix-window"), this.about);
    this.bar.element.addEventListener("change", () => this.#look());
    if (frame) this.bar.choose(Number(frame));
    this.#endings.push(events.on("job", ({ job }) => this.#follow(job)));
    keys.on("ArrowLeft", "the frame before", () => this.bar.choose(this.bar.frame - 1));
    keys.on("ArrowRight", "the next frame", () => this.bar.choose(this.bar.frame + 1));
    keys.on("Ctrl+Enter", "write and run", () => this.#write(true));
    this.app.drawBar?.();
    await this.#open();
  }

  leave() {
    for (const end of this.#endings) end();
    this.#paint?.leave?.();
    this.#deform?.leave();
    this.bar?.leave();
  }

  /** Put the tool's part on the page. */
  async #open() {
    this.#putAway();
    this.#deform?.leave();
    this.#deform = null;
    this.shown = null;
    if (this.tool === "deform") {
      this.#deform = new Deform(this.page.querySelector(".fix-stage"), this.about, this.app);
      this.#deform.element.addEventListener("change", () => this.#draw());
    }
    this.#draw();
    await this.#look();
  }

  /** Take the painting off the page; what was painted comes back with its frame. */
  #putAway() {
    if (this.#paint && this.#touched) this.#kept.set(this.shown, Uint8Array.from(this.#paint.pixels()));
    this.#paint?.leave?.();
    this.#paint = null;
    this.#touched = false;
  }

  /** Show the frame that is chosen. */
  async #look() {
    this.#draw();
    const at = { run: this.run, frame: this.bar.frame, field: this.field };
    const wanted = JSON.stringify([at, this.view, this.tool]);
    if (wanted === this.shown) return;
    this.#putAway();
    this.shown = wanted;
    if (this.#deform) {
      await this.#deform.update(at);
      return;
    }
    const number = ++this.#asked;
    const found = await this.app.try(arrays("edit/picture", this.tool === "picture" ? { ...at, view: this.view } : at));
    if (!found || number !== this.#asked || !this.page.isConnected || this.tool === "deform") return;
    const { width, height } = found.header;
    const background = this.#kept.get(wanted) ?? found.arrays.grey;
    this.#paint = new Paint(this.page.querySelector(".fix-stage"), { width, height, background });
    this.#touched = this.#kept.has(wanted);
    this.#draw();
  }

  #follow(job) {
    if (job.id !== this.#job?.id) return;
    this.#job = job;
    this.#draw();
  }

  async #write(run) {
    const { frame, first, last } = this.bar;
    const wish = { run: this.run, frame, first, last, name: this.name };
    if (this.about.fields.length > 1) wish.field = this.field;
    if (this.#deform) Object.assign(wish, this.#deform.wish);
    else if (this.#paint) wish.png = await base64(await this.#paint.toPng());
    if (this.tool === "picture") wish.view = this.view;
    const written = await this.app.try(post("edit", wish));
    if (!written) return;
    this.scene = written.path;
    this.app.say(`Wrote ${written.path}`);
    if (run) this.#job = (await this.app.try(post("jobs", { kind: "run", scene: written.path }))) ?? null;
    this.#draw();
  }

  #done() {
    if (!this.scene) return "";
    const editor = html`<a href="#/editor?${new URLSearchParams({ path: this.scene })}">${this.scene}</a>`;
    if (!this.#job) return html`<p>Written: ${editor}</p>`;
    const { state, run, message, last } = this.#job;
    const share = last?.total ? last.done / last.total : 0;
    return html`<p>Written: ${editor}</p>
      <p data-id="job" data-state=${state}>The edit is ${state}${message ? `: ${message}` : ""}.</p>
      ${ENDED.includes(state) ? "" : html`<progress max="1" .value=${share}></progress>`}
      ${state === "finished" ? html`<p><a data-do="compare" href="#/compare?${new URLSearchParams({ a: this.run, b: run })}">
        Before and after in step</a></p>` : ""}`;
  }

  #draw() {
    const { dim, fields, finished, frames } = this.about;
    const ready = finished && (this.#deform ? this.#deform.changed : this.#touched);
    const choose = (key, value) => { this[key] = value; this.#open(); };
    render(html`
      <div class="fix-tools row">
        ${Object.entries(TOOLS[dim]).map(([tool, words]) => html`<button data-do="tool-${tool}" aria-pressed=${this.tool === tool}
          @click=${() => choose("tool", tool)}>${words}</button>`)}
        ${this.tool === "picture" ? html`<label>Seen from <select data-id="view" @change=${(event) => choose("view", event.target.value)}>
          ${VIEWS.map((view) => html`<option ?selected=${view === this.view}>${view}</option>`)}</select></label>` : ""}
        ${fields.length > 1 ? html`<label>Smoke <select data-id="field" @change=${(event) => choose("field", event.target.value)}>
          ${fields.map((field) => html`<option ?selected=${field === this.field}>${field}</option>`)}</select></label>` : ""}
        <span class="grow"></span>
        <span class="quiet">Frame <b class="number">${this.bar?.frame ?? ""}</b> of ${frames} of ${this.run}</span>
      </div>
      <div class="fix-stage"></div>
      <aside class="fix-side panel">
        <h2>When</h2><div class="fix-window"></div>
        <p class="quiet">Frames up to ${this.bar?.first ?? 0} keep every bit. The run's own forces stay; new ones are added
          up to frame ${this.bar?.last ?? frames}.</p>
        <h2>Write</h2>
        <label>Name <input data-id="name" .value=${this.name} @input=${(event) => { this.name = event.target.value; }}></label>
        <p class="row"><button class="main" data-do="write-run" ?disabled=${!ready} @click=${() => this.#write(true)}>Write and run</button>
          <button data-do="write" ?disabled=${!ready} @click=${() => this.#write(false)}>Write only</button></p>
        ${finished ? "" : html`<p class="warn">This run is not finished. Resume it first, then edit it.</p>`}
        ${finished && !ready ? html`<p class="quiet">${this.#deform ? "Move a slider first." : "Paint on the frame first. Smoke is carried, not created: add about as much as you remove."}</p>` : ""}
        ${this.#done()}
      </aside>`, this.page);
  }
}
