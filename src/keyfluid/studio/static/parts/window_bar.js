// Frames as a bar: those that stay, those that may change, and the one that is edited; a handle for each end.
import { html, render } from "../vendor/lit-html/lit-html.js";
import { live } from "../vendor/lit-html/directives/live.js";

/** Holds frame, first and last with 0 <= first < frame <= last <= frames; fires "change" on its element. */
export class WindowBar {
  constructor(host, { frames, keyframes = [] }) {
    Object.assign(this, { frames, keyframes });
    this.element = document.createElement("div");
    this.element.className = "window-bar";
    host.append(this.element);
    this.choose(keyframes.at(-1) ?? frames);
  }

  /** Choose the frame to edit; the window is the half before it, until a hand sets an end: then it follows where it must. */
  choose(frame) {
    this.frame = Math.min(Math.max(1, frame), this.frames);
    this.first = Math.min(this.firstSet ?? Math.floor(this.frame / 2), this.frame - 1);
    this.last = Math.max(this.lastSet ?? this.frame, this.frame);
    this.#changed();
  }

  leave() { this.element.remove(); }

  #changed() {
    this.#draw();
    this.element.dispatchEvent(new Event("change"));
  }

  #row(name, words, value, least, most, set) {
    return html`<label>${words}
      <input type="range" data-id=${name} min=${least} max=${most} step="1" .value=${live(String(value))}
        @input=${(event) => set(Number(event.target.value))}>
      <output class="number">${value}</output></label>`;
  }

  #draw() {
    const share = (frame) => `${100 * frame / this.frames}%`;
    render(html`
      <div class="window-frames" role="img" aria-label="frames 0 to ${this.first} stay, ${this.first + 1} to ${this.last} are controlled">
        <span class="stays" .style=${`left: 0; width: ${share(this.first)}`}></span>
        <span class="changes" .style=${`left: ${share(this.first)}; width: ${share(this.last - this.first)}`}></span>
        ${this.keyframes.map((key) => html`<i class="key" .style=${`left: ${share(key)}`}></i>`)}
        <b .style=${`left: ${share(this.frame)}`}></b>
      </div>
      ${this.#row("frame", "Frame to edit", this.frame, 1, this.frames, (value) => this.choose(value))}
      ${this.#row("first", "Frames that stay, up to", this.first, 0, this.frames - 1, (value) => {
        this.firstSet = value;
        this.choose(this.frame);
      })}
      ${this.#row("last", "Control ends at", this.last, 1, this.frames, (value) => {
        this.lastSet = value;
        this.choose(this.frame);
      })}`, this.element);
  }
}
