// A wedge: one scene with several values, its films in step as a grid, sorted by any number of result.json.
import { get } from "../api.js";
import { keys } from "../keys.js";
import { Screen } from "../parts/screen.js";
import { Transport } from "../parts/transport.js";
import { html, render } from "../vendor/lit-html/lit-html.js";

const AT_ONCE = 12; // films on a page
const BIG_IS_GOOD = new Set(["overlap"]);
const words = (value) => (value === undefined ? "–" : Math.abs(value) >= 1e4 || (value && Math.abs(value) < 1e-3)
  ? value.toExponential(2) : String(Number(value.toPrecision(4))));

export class Page {
  tiles = new Map();
  sort = "";
  first = 0;

  constructor(root, app) { Object.assign(this, { root, app }); }

  get title() { return this.path ?? "Wedge"; }

  async show({ path }) {
    this.path = path;
    this.app.drawBar();
    const layout = document.createElement("div");
    layout.className = "wedge-page";
    this.root.replaceChildren(layout);
    this.head = document.createElement("header");
    this.grid = document.createElement("div");
    this.grid.className = "wedge-grid";
    layout.append(this.head, this.grid);
    this.transport = new Transport(layout, (frame, moving) => this.#go(frame, moving));
    this.transport.addKeys(keys);
    const { line, runs } = await get("wedge", { path });
    Object.assign(this, { line, runs });
    this.names = [...new Set(runs.flatMap((run) => Object.keys(run.numbers)))];
    this.sort = this.names.includes("error") ? "error" : "";
    await this.#arrange();
  }

  get ordered() {
    const sign = BIG_IS_GOOD.has(this.sort) ? -1 : 1;
    if (!this.sort) return this.runs;
    const value = (run) => sign * (run.numbers[this.sort] ?? sign * Infinity);
    return [...this.runs].sort((a, b) => value(a) - value(b));
  }

  /** Tiles in their order; films stay open when they only move. */
  async #arrange() {
    const shown = this.ordered.slice(this.first, this.first + AT_ONCE);
    for (const [path, tile] of this.tiles) {
      if (shown.some((run) => run.line.path === path)) continue;
      tile.screen.leave();
      tile.element.remove();
      this.tiles.delete(path);
    }
    this.#draw();
    this.grid.classList.toggle("few", shown.length <= 4);
    for (const run of shown) {
      const tile = this.tiles.get(run.line.path) ?? await this.#open(run);
      this.grid.append(tile.element);
      this.#label(tile, run);
    }
    const infos = [...this.tiles.values()].map((tile) => tile.screen.info).filter(Boolean);
    if (!infos.length) return;
    const last = Math.max(...infos.map((info) => info.frames.at(-1) ?? 0));
    const marks = infos[0].keyframes.map((key) => key.frame);
    this.transport.set({ last, fps: infos[0].fps, keyframes: marks });
    if (!this.began) { this.began = true; this.transport.frame = marks.at(-1) ?? last; }
    await this.transport.go(this.transport.frame);
  }

  async #open(run) {
    const element = document.createElement("article");
    element.className = "tile";
    element.dataset.id = run.line.path;
    const [stage, label] = [document.createElement("div"), document.createElement("p")];
    stage.className = "stage-place";
    element.append(stage, label);
    const camera = [...this.tiles.values()][0]?.screen.camera ?? null;
    const tile = { element, label, screen: new Screen(stage, this.app, { camera, small: true }) };
    this.tiles.set(run.line.path, tile);
    this.grid.append(element);
    await this.app.try(() => tile.screen.load(run.line.path));
    return tile;
  }

  #label({ label, element }, run) {
    const best = this.sort && this.ordered[0] === run;
    element.classList.toggle("best", Boolean(best));
    render(html`<a href=${`#/run?${new URLSearchParams({ path: run.line.path })}`}>${run.values.join(", ")}</a>
      <small class="number">${this.sort ? `${this.sort} ${words(run.numbers[this.sort])}` : run.line.status}</small>`, label);
  }

  #draw() {
    const pages = Math.ceil(this.runs.length / AT_ONCE);
    render(html`<h1>${this.line.name}</h1><small>${this.runs.length} runs · ${this.line.status}</small><span class="grow"></span>
      <label class="row">Sort by <select data-id="sort" @change=${(event) => { this.sort = event.target.value; this.#arrange(); }}>
        <option value="" ?selected=${!this.sort}>value</option>
        ${this.names.map((name) => html`<option value=${name} ?selected=${name === this.sort}>${name.replaceAll("_", " ")}</option>`)}</select></label>
      ${pages > 1 ? html`<button data-do="more" @click=${() => { this.first = (this.first + AT_ONCE) % (pages * AT_ONCE); this.#arrange(); }}>
        ${this.first + 1} to ${Math.min(this.first + AT_ONCE, this.runs.length)}, next</button>` : ""}
      ${this.ordered.length > 1 ? html`<button data-do="compare-best" @click=${() => {
        const [a, b] = this.ordered;
        this.app.go("compare", { a: a.line.path, b: b.line.path });
      }}>Compare the first two</button>` : ""}`, this.head);
  }

  async #go(frame, moving) {
    await Promise.all([...this.tiles.values()].map(({ screen }) => (screen.info ? screen.show(frame, moving) : null)));
  }

  leave() {
    this.transport?.leave();
    for (const { screen } of this.tiles.values()) screen.leave();
  }
}
