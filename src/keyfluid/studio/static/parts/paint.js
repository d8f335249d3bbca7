// Painting in grey: brush and eraser with a soft edge, on a picture that may already hold something.
import { html, render } from "../vendor/lit-html/lit-html.js";

/** background: grey bytes, rows from the top. Fires "change" on its element after a stroke. */
export class Paint {
  #tool = "brush";
  #size;

  constructor(host, { width, height, background }) {
    Object.assign(this, { width, height });
    this.#size = Math.max(2, Math.round(Math.max(width, height) / 16));
    this.grey = background ? Uint8Array.from(background) : new Uint8Array(width * height);
    this.element = document.createElement("div");
    this.element.className = "paint";
    this.tools = document.createElement("div");
    this.tools.className = "row";
    this.canvas = Object.assign(document.createElement("canvas"), { width, height });
    this.element.append(this.tools, this.canvas);
    host.append(this.element);
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.#stroke(event);
    });
    this.canvas.addEventListener("pointermove", (event) => { if (event.buttons & 1) this.#stroke(event); });
    this.canvas.addEventListener("pointerup", () => this.element.dispatchEvent(new Event("change")));
    this.#draw();
    this.#show();
  }

  pixels() { return this.grey; }

  /** The picture as a PNG. */
  toPng() { return new Promise((done) => this.canvas.toBlob(done, "image/png")); }

  leave() { this.element.remove(); }

  #draw() {
    const tool = (name, words) => html`<button data-do=${name} aria-pressed=${this.#tool === name}
      @click=${() => { this.#tool = name; this.#draw(); }}>${words}</button>`;
    render(html`${tool("brush", "Brush")}${tool("eraser", "Eraser")}
      <label>Size <input type="range" min="1" max=${Math.round(Math.max(this.width, this.height) / 3)} .value=${this.#size}
        @input=${(event) => { this.#size = Number(event.target.value); }}></label>`, this.tools);
  }

  #stroke(event) {
    const box = this.canvas.getBoundingClientRect();
    // The picture lies in the middle of its box (object-fit: contain).
    const scale = Math.min(box.width / this.width, box.height / this.height);
    const x = (event.clientX - box.x - (box.width - scale * this.width) / 2) / scale;
    const y = (event.clientY - box.y - (box.height - scale * this.height) / 2) / scale;
    const radius = this.#size / 2;
    for (let row = Math.max(0, Math.floor(y - radius)); row < Math.min(this.height, y + radius); row++) {
      for (let column = Math.max(0, Math.floor(x - radius)); column < Math.min(this.width, x + radius); column++) {
        const share = Math.min(1, 2 - 2 * Math.hypot(column + 0.5 - x, row + 0.5 - y) / radius);
        if (share <= 0) continue;
        const at = row * this.width + column;
        const goal = this.#tool === "brush" ? 255 : 0;
        this.grey[at] = this.#tool === "brush" ? Math.max(this.grey[at], goal * share) : this.grey[at] * (1 - share);
      }
    }
    this.#show();
  }

  #show() {
    const image = new ImageData(this.width, this.height);
    for (let at = 0; at < this.grey.length; at++) image.data.set([this.grey[at], this.grey[at], this.grey[at], 255], 4 * at);
    this.canvas.getContext("2d").putImageData(image, 0, 0);
  }
}
