// Time: keyframes as markers to drag, holds, sources and winds as bars; play and scrub.
import { html, nothing, render } from "../vendor/lit-html/lit-html.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { fpsOf, framesOf } from "./scene_paths.js";
import { dragged, lanesOf } from "./time_lanes.js";

/** `frame` is set and read; fires "frame" with {frame}, "select" with {id} and "add" with {frame}. */
export class Timeline extends EventTarget {
  #frame = 0;
  #playing = null;
  #drag = null;

  constructor(host, state) {
    super();
    Object.assign(this, { state, selected: null });
    this.element = document.createElement("section");
    this.element.className = "timeline";
    this.element.setAttribute("aria-label", "Timeline");
    host.append(this.element);
    this.update = this.update.bind(this);
    state.addEventListener("change", this.update);
    this.update();
  }

  get frame() { return this.#frame; }
  set frame(value) {
    const frame = Math.max(0, Math.min(framesOf(this.state.data), value));
    if (frame === this.#frame) return;
    this.#frame = frame;
    this.update();
  }

  get playing() { return this.#playing !== null; }

  leave() {
    this.pause();
    this.state.removeEventListener("change", this.update);
  }

  play() {
    const start = performance.now();
    const from = this.#frame >= framesOf(this.state.data) ? 0 : this.#frame;
    const step = (now) => {
      const count = framesOf(this.state.data) + 1;
      this.#show(Math.floor(from + ((now - start) / 1000) * fpsOf(this.state.data)) % count);
      this.#playing = requestAnimationFrame(step);
    };
    this.#playing = requestAnimationFrame(step);
    this.update();
  }

  pause() {
    if (this.#playing !== null) cancelAnimationFrame(this.#playing);
    this.#playing = null;
    this.update();
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  /** Go to another frame by a person's hand. */
  step(count) { this.pause(); this.#show(this.#frame + count); }

  #show(frame) {
    const before = this.#frame;
    this.frame = frame;
    if (this.#frame !== before) this.dispatchEvent(new CustomEvent("frame", { detail: { frame: this.#frame } }));
  }

  update() {
    const { data } = this.state;
    const frames = framesOf(data);
    this.#frame = Math.min(this.#frame, frames);
    const at = (frame) => `${(100 * frame) / frames}%`;
    const lanes = lanesOf(data, this.#drag);
    render(html`
      <div class="time-bar row">
        <button data-do="play" title="Play or pause (Space)" @click=${() => this.toggle()}>${this.playing ? "Pause" : "Play"}</button>
        <label class="row">Frame <input class="time-frame number" type="number" min="0" max=${frames} .value=${String(this.#frame)}
          @change=${(event) => this.step(Math.round(Number(event.target.value)) - this.#frame)}></label>
        <span class="quiet number">of ${frames} · ${(this.#frame / fpsOf(data)).toFixed(2)} s</span><span class="grow"></span>
        <button data-do="add-key" title="A keyframe at this frame (k)" ?disabled=${this.#frame === 0}
          @click=${() => this.dispatchEvent(new CustomEvent("add", { detail: { frame: this.#frame } }))}>Add key at frame ${this.#frame}</button>
      </div>
      <div class="time-lanes">
        <div class="lane ruler"><span></span><div class="track" role="slider" tabindex="0" aria-label="Frame" aria-valuemin="0"
          aria-valuemax=${frames} aria-valuenow=${this.#frame} data-do="scrub" @pointerdown=${(event) => this.#scrub(event)}>
          ${ticks(frames).map((frame) => html`<i .style=${`left: ${at(frame)}`}>${frame}</i>`)}
          <b class="playhead" .style=${`left: ${at(this.#frame)}`}></b></div></div>
        ${repeat(lanes, ({ name }) => name, (lane) => html`<div class="lane" data-lane=${lane.name}>
          <span title=${lane.name}>${lane.name}</span><div class="track" @pointerdown=${(event) => this.#scrub(event)}>
            ${lane.items.map((item) => this.#item(item, at))}
            <b class="playhead" .style=${`left: ${at(this.#frame)}`}></b></div></div>`)}
      </div>`, this.element);
  }

  #item(item, at) {
    const chosen = item.id === this.selected ? "chosen" : "";
    const bar = item.end === undefined ? nothing : html`<div class=${`bar ${item.role} ${chosen}`} data-id="${item.id}.span"
      .style=${`left: ${at(item.start)}; width: ${at(item.end - item.start)}`} title=${item.words}
      @pointerdown=${(event) => this.#grab(event, item, "all")}></div>`;
    const held = item.held === undefined ? nothing : html`<div class="bar hold" title="Hold"
      .style=${`left: ${at(item.end ?? item.start)}; width: ${at(item.held - (item.end ?? item.start))}`}></div>`;
    const ends = item.ends.map((end) => html`<button class=${`grip ${chosen} ${item.marker && end.frame === item.start ? "beside" : ""}`} data-id="${item.id}.${end.key}"
      .style=${`left: ${at(end.frame)}`} title=${end.words} aria-label=${end.words}
      @pointerdown=${(event) => this.#grab(event, item, end.key)} @keydown=${(event) => this.#nudge(event, item, end.key)}></button>`);
    const mark = item.marker ? html`<button class=${`mark ${item.role} ${chosen}`} data-id=${item.id}
      .style=${`left: ${at(item.start)}`} title=${item.words} aria-label=${item.words}
      @focus=${() => this.#select(item.id)} @pointerdown=${(event) => this.#grab(event, item, "all")}
      @keydown=${(event) => this.#nudge(event, item, "all")}></button>` : nothing;
    return html`${held}${bar}${ends}${mark}`;
  }

  #select(id) {
    if (this.selected === id) return;
    this.selected = id;
    this.update();
    this.dispatchEvent(new CustomEvent("select", { detail: { id } }));
  }

  #at(event, track) {
    const box = track.getBoundingClientRect();
    return Math.round(((event.clientX - box.left) / box.width) * framesOf(this.state.data));
  }

  #follow(event, move, end) {
    const target = event.currentTarget;
    target.setPointerCapture(event.pointerId);
    target.onpointermove = move;
    target.onpointerup = target.onpointercancel = (last) => {
      target.onpointermove = target.onpointerup = target.onpointercancel = null;
      end(last);
    };
  }

  #scrub(event) {
    if (event.button !== 0) return;
    const track = event.currentTarget;
    this.pause();
    this.#show(this.#at(event, track));
    this.#follow(event, (move) => this.#show(this.#at(move, track)), () => {});
  }

  #grab(event, item, key) {
    if (event.button !== 0) return;
    event.stopPropagation();
    const track = event.currentTarget.closest(".track");
    const from = this.#at(event, track);
    this.#select(item.id);
    this.#follow(event, (move) => {
      this.#drag = { id: item.id, key, by: this.#at(move, track) - from };
      this.update();
    }, (last) => this.#drop(item, key, last.type === "pointerup" ? this.#at(last, track) - from : 0));
  }

  async #drop(item, key, by) {
    const changes = by ? dragged(this.state.data, item.id, key, by).changes : [];
    if (changes.length) await this.state.change(changes, `Move ${item.words.toLowerCase()}`);
    else if (key === "all" && item.marker) this.#show(item.start);
    this.#drag = null;
    this.update();
  }

  #nudge(event, item, key) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    this.#drop(item, key, by * (event.shiftKey ? 10 : 1));
  }
}

function ticks(frames) {
  const step = [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 5000, 10000].find((size) => frames / size <= 16) ?? frames;
  return Array.from({ length: Math.floor(frames / step) + 1 }, (_, index) => index * step);
}
