// Move, twist and bend a frame by sliders; the server draws it before and after, from each side.
import { address, unpack } from "../api.js";
import { html, render } from "../vendor/lit-html/lit-html.js";
import { live } from "../vendor/lit-html/directives/live.js";

const AXES = ["x", "y", "z"];
const VIEWS = { 2: [""], 3: ["+z", "+x", "+y"] };

/** about: of GET /api/edit. `wish` holds move, twist and bend; `update` draws another frame. */
export class Deform {
  #at = null;
  #asked = 0;

  constructor(host, about, app) {
    Object.assign(this, { about, app });
    this.move = about.size.map(() => 0);
    this.twist = this.bend = 0;
    this.element = document.createElement("div");
    this.element.className = "deform";
    host.append(this.element);
    this.#draw();
  }

  get wish() { return { move: this.move, twist: this.about.dim === 3 ? this.twist : 0, bend: this.bend }; }

  get changed() { return [...this.move, this.twist, this.bend].some((value) => value !== 0); }

  /** at: {run, frame, field}. */
  async update(at) {
    this.#at = at;
    const number = ++this.#asked;
    clearTimeout(this.timer);
    await new Promise((done) => { this.timer = setTimeout(done, 60); });
    if (number !== this.#asked) return;
    const body = JSON.stringify({ ...at, ...this.wish });
    const response = await fetch(address("edit/preview"), { method: "POST", body, headers: { "Content-Type": "application/json" } });
    if (!response.ok) {
      this.app.say((await response.json()).error.message, true);
      return;
    }
    const answer = unpack(await response.arrayBuffer());
    if (number === this.#asked && this.element.isConnected) this.#show(answer);
  }

  leave() {
    clearTimeout(this.timer);
    this.#asked++;
    this.element.remove();
  }

  #set(change) {
    change();
    this.#draw();
    this.element.dispatchEvent(new Event("change"));
    this.update(this.#at);
  }

  #slider(name, words, value, most, unit, set) {
    return html`<label class="deform-slider">${words}
      <input type="range" data-id=${name} min=${-most} max=${most} step="any" .value=${live(String(value))}
        @input=${(event) => this.#set(() => set(Number(event.target.value)))}>
      <output class="number">${value.toFixed(unit === "m" ? 3 : 0)} ${unit}</output></label>`;
  }

  #draw() {
    const { dim, size } = this.about;
    render(html`
      <div class="deform-views">${VIEWS[dim].map((view) => html`<figure>
        <canvas data-view=${view}></canvas><figcaption class="quiet">${view ? `from ${view}` : "the domain"}</figcaption></figure>`)}</div>
      <p class="quiet">Grey: as it is. Blue: as it shall be.</p>
      <div class="deform-sliders">
        ${size.map((side, axis) => this.#slider(`move-${AXES[axis]}`, `Move along ${AXES[axis]}`, this.move[axis], side / 2, "m",
          (value) => { this.move = this.move.with(axis, value); }))}
        ${dim === 3 ? this.#slider("twist", "Twist", this.twist, 360, "°", (value) => { this.twist = value; }) : ""}
        ${this.#slider("bend", "Bend", this.bend, 120, "°", (value) => { this.bend = value; })}
        <button ?disabled=${!this.changed} @click=${() => this.#set(() => {
          this.move = this.move.map(() => 0);
          this.twist = this.bend = 0;
        })}>Set back</button>
      </div>`, this.element);
  }

  #show({ header, arrays }) {
    for (const canvas of this.element.querySelectorAll("canvas")) {
      const { view } = canvas.dataset;
      const [width, height] = header.arrays.find(({ name }) => name === `before${view}`).shape;
      Object.assign(canvas, { width, height });
      const image = new ImageData(width, height);
      const [before, after] = [arrays[`before${view}`], arrays[`after${view}`]];
      for (let at = 0; at < before.length; at++) {
        const [was, is] = [0.45 * before[at], after[at] / 255];
        const row = height - 1 - Math.floor(at / width);
        image.data.set([was + (127 - was) * is, was + (196 - was) * is, was + (255 - was) * is, 255], 4 * (row * width + at % width));
      }
      canvas.getContext("2d").putImageData(image, 0, 0);
    }
  }
}
