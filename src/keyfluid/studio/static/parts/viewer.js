// A run's film with its controls: scrub and play, compare with the target, arrows, camera.
import { events } from "../api.js";
import { html, nothing, render } from "../vendor/lit-html/lit-html.js";
import { targetFrame } from "./frame_content.js";
import { Screen } from "./screen.js";
import { Transport } from "./transport.js";

const MODES = { film: "Film", difference: "Difference", outline: "Outline", wipe: "Wipe", blend: "Blend" };
const FLOWS = { velocity: "Velocity", force: "Force" };
const POLL = 3000;

/** `load(path)` opens a run; it follows a run that is being computed. Events: "change" after each frame. */
export class Viewer extends EventTarget {
  #ends = [];
  #poll = 0;

  constructor(host, app) {
    super();
    this.app = app;
    this.element = document.createElement("section");
    this.element.className = "viewer";
    this.element.viewer = this;
    this.tools = document.createElement("div");
    this.tools.className = "tools row";
    this.stage = document.createElement("div");
    this.stage.className = "stage-place";
    this.element.append(this.stage, this.tools);
    host.append(this.element);
    this.screen = new Screen(this.stage, app);
    this.remarks = document.createElement("div");
    this.remarks.className = "remarks row";
    this.stage.append(this.remarks);
    this.screen.onshown = () => { this.update(); this.dispatchEvent(new Event("change")); };
    this.transport = new Transport(this.element, (frame, moving) => this.screen.show(frame, moving));
    this.#wipeByMouse();
  }

  get info() { return this.screen.info; }
  get frame() { return this.screen.frame; }
  set frame(frame) { this.transport.go(frame); }
  get mode() { return this.screen.mode; }
  set mode(mode) { this.screen.mode = mode; this.#again(); }
  get arrows() { return this.screen.arrows; }
  set arrows(arrows) { this.screen.arrows = arrows; this.#again(); }
  play() { this.transport.play(); }
  pause() { this.transport.pause(); }

  /** frame: to begin with; default: the last keyframe, or the last frame that is there. */
  async load(path, frame = undefined) {
    for (const end of this.#ends.splice(0)) end();
    const info = await this.screen.load(path);
    this.#ends.push(events.on("frames", (event) => event.run === path && this.refresh()));
    this.#ends.push(events.on("job", ({ job }) => job.run === path && this.refresh()));
    this.#follow(info);
    const last = info.frames.at(-1) ?? 0;
    const key = info.keyframes.map((one) => one.frame).filter((one) => one <= last).at(-1);
    await this.transport.go(frame ?? key ?? last);
    this.update();
    return info;
  }

  /** Look for frames that have come since. */
  async refresh() {
    if (!this.info || this.refreshing) return;
    this.refreshing = true;
    const atEnd = this.frame === (this.info.frames.at(-1) ?? 0);
    const info = await this.app.try(() => this.screen.refresh());
    this.refreshing = false;
    if (!info) return;
    this.#follow(info);
    if (atEnd && !this.transport.playing && info.frames.length) await this.transport.go(info.frames.at(-1));
    this.dispatchEvent(new Event("info"));
  }

  #follow(info) {
    const last = info.line.status === "finished" ? info.frames.at(-1) ?? 0 : info.last;
    this.transport.set({ last, fps: info.fps, keyframes: info.keyframes.map((key) => key.frame) });
    clearTimeout(this.#poll);
    if (info.line.status === "running") this.#poll = setTimeout(() => this.refresh(), POLL);
  }

  #again() { this.update(); if (this.info) this.screen.redraw(); }

  addKeys(keys) {
    this.transport.addKeys(keys);
    this.screen.camera?.addKeys(keys);
    Object.keys(MODES).forEach((mode, place) => keys.on(String(place + 1), `${MODES[mode]}`, () => {
      if (this.info?.keyframes.length) this.mode = mode;
    }));
  }

  update() {
    const { screen, info } = this;
    if (!info) return;
    const over = targetFrame(info, this.frame);
    const flows = Object.keys(FLOWS).filter((name) => info.has[name]);
    const choice = screen.arrows === "none" ? "none" : `${screen.arrows} ${screen.lines}`;
    render(html`
      ${over === null ? nothing : html`<div class="row modes" role="group" aria-label="Compare with the target">
        ${Object.entries(MODES).map(([mode, words]) => html`<button data-do=${`mode-${mode}`} aria-pressed=${screen.mode === mode}
          @click=${() => { this.mode = mode; }}>${words}</button>`)}</div>`}
      <span class="grow"></span>
      <label class="row">Flow <select data-id="flow" @change=${(event) => this.#choose(event.target.value)}>
        <option value="none" ?selected=${choice === "none"}>hidden</option>
        ${flows.flatMap((name) => ["arrows", "streamlines"].map((lines) => html`<option value=${`${name} ${lines}`}
          ?selected=${choice === `${name} ${lines}`}>${FLOWS[name]}, ${lines}</option>`))}</select></label>
      ${info.dim === 3 && info.has.markers ? html`<button data-do="markers" aria-pressed=${screen.markers}
        @click=${() => { screen.markers = !screen.markers; this.#again(); }}>Markers</button>` : nothing}
      ${info.dim === 3 ? html`<div class="row" role="group" aria-label="Camera">${["x", "y", "z"].map((axis) => html`
        <button data-do=${`along-${axis}`} title=${`Look along ${axis}`} @click=${() => screen.camera.along(axis)}>${axis}</button>`)}
        <button data-do="camera" title="The scene's own camera (0)" @click=${() => screen.camera.reset()}>Reset</button></div>` : nothing}`,
    this.tools);
    render(this.#remarks(over), this.remarks);
  }

  /** What the colours and lengths on the picture mean, and the slider of a mode. */
  #remarks(over) {
    const { mode, arrows, vectors } = this.screen;
    return html`
      ${mode === "wipe" || mode === "blend" ? html`<label class="row">Film <input type="range" min="0" max="1" step="0.01"
        aria-label=${mode === "wipe" ? "Where the target begins" : "Share of the target"} data-id="share"
        .value=${String(mode === "wipe" ? 1 - this.screen.wipe : this.screen.blend)}
        @input=${(event) => this.#share(mode === "wipe" ? 1 - Number(event.target.value) : Number(event.target.value))}> Target</label>` : nothing}
      ${mode === "difference" ? html`<span class="legend"><i class="missing"></i>missing<i class="stray"></i>too much<i class="both"></i>both</span>` : nothing}
      ${mode !== "film" && over !== null && over !== this.frame ? html`<small>target of frame ${over}</small>` : nothing}
      ${arrows !== "none" && vectors ? html`<small class="number">largest ${vectors.largest.toPrecision(2)} ${vectors.unit}</small>` : nothing}`;
  }

  #share(value) {
    this.screen[this.screen.mode] = value;
    this.update();
    this.screen.redraw(true);
  }

  #choose(value) {
    const [arrows, lines] = value.split(" ");
    this.screen.lines = lines ?? "arrows";
    this.arrows = arrows;
  }

  /** In 2D the edge between film and target follows the mouse while it is pressed. */
  #wipeByMouse() {
    const { element, canvas } = this.screen;
    const move = (event) => {
      if (this.mode !== "wipe" || this.info?.dim !== 2 || !(event.buttons & 1)) return;
      const box = canvas.getBoundingClientRect();
      this.#share(Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1));
    };
    element.addEventListener("pointerdown", move);
    element.addEventListener("pointermove", move);
  }

  leave() {
    clearTimeout(this.#poll);
    for (const end of this.#ends.splice(0)) end();
    this.transport.leave();
    this.screen.leave();
    this.element.remove();
  }
}
