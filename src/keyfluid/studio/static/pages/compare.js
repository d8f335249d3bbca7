// Two runs in step: the same frame, the same camera, the same way of looking.
import { keys } from "../keys.js";
import { Screen } from "../parts/screen.js";
import { statusOf } from "../parts/run_facts.js";
import { Transport } from "../parts/transport.js";
import { html, nothing, render } from "../vendor/lit-html/lit-html.js";

const MODES = { film: "Film", difference: "Difference", outline: "Outline" };
const number = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));

export class Page {
  screens = [];

  constructor(root, app) { Object.assign(this, { root, app }); }

  get title() { return "Compare"; }

  async show({ a, b, frame }) {
    const layout = document.createElement("div");
    layout.className = "compare-page";
    this.root.replaceChildren(layout);
    this.sides = [a, b].map((path, place) => {
      const side = document.createElement("section");
      side.className = "side";
      side.dataset.id = "ab"[place];
      const [head, stage] = [document.createElement("header"), document.createElement("div")];
      stage.className = "stage-place";
      side.append(head, stage);
      layout.append(side);
      return { path, head, stage };
    });
    this.tools = document.createElement("div");
    this.tools.className = "tools row";
    layout.append(this.tools);
    this.transport = new Transport(layout, (now, moving) => this.#go(now, moving));
    for (const side of this.sides) await this.#open(side);
    const infos = this.screens.map((screen) => screen.info);
    const last = Math.max(...infos.map((info) => info.frames.at(-1) ?? 0));
    const marks = infos.flatMap((info) => info.keyframes.map((key) => key.frame)).sort((x, y) => x - y);
    this.transport.set({ last, fps: infos[0].fps, keyframes: marks });
    this.transport.addKeys(keys);
    this.screens[0].camera?.addKeys(keys);
    this.#tools();
    await this.transport.go(frame === undefined ? marks.at(-1) ?? last : Number(frame));
  }

  /** Films of one dimension share a camera. */
  async #open(side) {
    const screen = new Screen(side.stage, this.app, { camera: this.screens[0]?.camera ?? null });
    this.screens.push(screen);
    await screen.load(side.path);
  }

  async #go(frame, moving) {
    await Promise.all(this.screens.map((screen) => screen.show(frame, moving)));
    this.screens.forEach((screen, place) => this.#head(this.sides[place], screen));
  }

  #head({ head, path }, { info, frame }) {
    const score = info.result?.keyframes.find((key) => key.frame === frame);
    const other = this.screens.find((screen) => screen.info !== info)?.info.result?.keyframes.find((key) => key.frame === frame);
    const better = score && other && score.relative_error < other.relative_error ? "good" : "";
    render(html`<a href=${`#/run?${new URLSearchParams({ path })}`}>${path}</a> <small>${info.line.method} · ${info.cells.join(" × ")} · ${statusOf(info.line)}</small>
      ${score ? html`<span class="number ${better}">error ${number(score.relative_error)} · overlap ${number(score.iou)}</span>` : nothing}`, head);
  }

  #tools() {
    const mode = this.screens[0].mode;
    const keyed = this.screens.some((screen) => screen.info.keyframes.length);
    const flow = this.screens[0].arrows;
    render(html`${keyed ? Object.entries(MODES).map(([name, words]) => html`<button data-do=${`mode-${name}`} aria-pressed=${mode === name}
        @click=${() => this.#set({ mode: name })}>${words}</button>`) : nothing}
      <button data-do="velocity" aria-pressed=${flow === "velocity"}
        @click=${() => this.#set({ arrows: flow === "velocity" ? "none" : "velocity" })}>Velocity</button>`, this.tools);
  }

  #set(values) {
    for (const screen of this.screens) {
      Object.assign(screen, values);
      screen.redraw();
    }
    this.#tools();
  }

  leave() {
    this.transport?.leave();
    for (const screen of this.screens) screen.leave();
  }
}
