// Play, pause and scrub: a button, a slider with a mark at each keyframe, and where the film is.
import { html, render } from "../vendor/lit-html/lit-html.js";
import { live } from "../vendor/lit-html/directives/live.js";

export class Transport {
  #began = null;
  #busy = false;
  frame = 0;
  last = 0;
  fps = 24;
  keyframes = [];
  playing = false;

  /** show(frame, moving) draws a frame and may be awaited. */
  constructor(host, show) {
    this.show = show;
    this.element = document.createElement("div");
    this.element.className = "transport";
    host.append(this.element);
    this.update();
  }

  /** The film's length, rate and keyframes. */
  set({ last, fps, keyframes }) {
    Object.assign(this, { last, fps, keyframes: [...new Set(keyframes)] });
    this.frame = Math.min(this.frame, last);
    this.update();
  }

  update() {
    render(html`
      <button class="play" data-do="play" title="Play or pause (Space)" aria-pressed=${this.playing}
        @click=${() => this.toggle()}>${this.playing ? "Pause" : "Play"}</button>
      <div class="scrub">
        <input type="range" min="0" max=${this.last} step="1" .value=${live(String(this.frame))} data-id="frame"
          aria-label="Frame" @input=${(event) => { this.pause(); this.go(Number(event.target.value), true); }}>
        <div class="marks">${this.keyframes.slice(0, 200).map((frame) => html`
          <button class="mark" data-frame=${frame} data-id=${`key-${frame}`} title=${`Keyframe at ${frame}`}
            aria-label=${`Keyframe at frame ${frame}`} @click=${() => { this.pause(); this.go(frame); }}></button>`)}</div>
      </div>
      <output class="number" data-id="place">${this.frame} / ${this.last}<small> · ${(this.frame / this.fps).toFixed(2)} s</small></output>`,
    this.element);
    // Not in the template: the page's policy refuses style attributes.
    for (const mark of this.element.querySelectorAll(".mark")) {
      mark.style.left = `${this.last ? 100 * Number(mark.dataset.frame) / this.last : 0}%`;
    }
  }

  /** Show a frame. */
  async go(frame, moving = false) {
    this.frame = Math.min(Math.max(frame, 0), this.last);
    this.update();
    await this.show(this.frame, moving);
  }

  step(by) { this.pause(); return this.go(this.frame + by, true); }

  toggle() { return this.playing ? this.pause() : this.play(); }

  play() {
    if (this.playing || !this.last) return;
    this.playing = true;
    if (this.frame >= this.last) this.frame = 0;
    this.#began = { time: performance.now(), frame: this.frame };
    this.update();
    const tick = async () => {
      if (!this.playing) return;
      requestAnimationFrame(tick);
      const { time, frame } = this.#began;
      const now = (frame + Math.floor((performance.now() - time) / 1000 * this.fps)) % (this.last + 1);
      if (this.#busy || now === this.frame) return;
      this.#busy = true;
      try {
        await this.go(now, true);
      } finally {
        this.#busy = false;
      }
    };
    requestAnimationFrame(tick);
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.update();
  }

  /** Shortcuts of a page with one film. */
  addKeys(keys) {
    keys.on("Space", "Play or pause", () => this.toggle());
    keys.on("ArrowRight", "Next frame", () => this.step(1));
    keys.on("ArrowLeft", "Frame before", () => this.step(-1));
    keys.on("Home", "First frame", () => { this.pause(); this.go(0); });
    keys.on("End", "Last frame", () => { this.pause(); this.go(this.last); });
    keys.on("k", "Next keyframe", () => {
      const next = this.keyframes.find((frame) => frame > this.frame) ?? this.keyframes[0];
      if (next !== undefined) { this.pause(); this.go(next); }
    });
  }

  leave() { this.playing = false; this.element.remove(); }
}
