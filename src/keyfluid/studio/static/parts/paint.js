// Painting: brush, eraser, fill, soft edge, size; other pictures show through as an onion skin.
import { html, nothing, render } from "../vendor/lit-html/lit-html.js";

const TOOLS = { brush: ["Brush", "b"], eraser: ["Eraser", "e"], fill: ["Fill", "f"] };
const MOST_UNDO = 30;
const INK = 6;

export class Paint {
  tool = "brush";
  size = 24;
  soft = 0.2;
  #stroke = null;
  #undo = [];
  #layers = [];

  /** host: an element that it covers. width, height: of the painting, pixels. background: grey levels it begins with,
   *  x fastest, y up. done(paint), cancel(): adds the buttons Keep and Cancel; without them the host has its own. */
  constructor(host, { width, height, background, done, cancel }) {
    Object.assign(this, { width, height, done, cancel });
    this.grey = new Uint8ClampedArray(width * height);
    if (background) this.#set(background);
    this.element = document.createElement("div");
    this.element.className = "paint";
    this.element.tabIndex = -1;
    this.tools = document.createElement("div");
    this.tools.className = "paint-tools row";
    this.frame = document.createElement("div");
    this.frame.className = "paint-frame";
    this.skin = Object.assign(document.createElement("canvas"), { width, height, className: "paint-skin" });
    this.canvas = Object.assign(document.createElement("canvas"), { width, height });
    this.canvas.dataset.id = "painting";
    this.ring = Object.assign(document.createElement("span"), { className: "paint-ring", hidden: true });
    this.frame.append(this.canvas, this.skin, this.ring);
    this.element.append(this.tools, this.frame);
    host.append(this.element);
    this.resizer = new ResizeObserver(() => this.#fit());
    this.resizer.observe(this.element);
    this.canvas.addEventListener("pointerdown", (event) => this.#down(event));
    this.canvas.addEventListener("pointermove", (event) => this.#move(event));
    this.canvas.addEventListener("pointerup", (event) => {
      this.#move(event);
      this.#stroke = null;
    });
    this.canvas.addEventListener("pointerleave", () => { this.ring.hidden = true; });
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.#drawTools();
    this.#fit();
    this.#show(0, 0, width, height);
    this.element.focus({ preventScroll: true });
  }

  /** Grey levels, x fastest, y up. */
  pixels() {
    const { width, height } = this, result = new Uint8Array(width * height);
    for (let y = 0; y < height; y++) result.set(this.grey.subarray(y * width, (y + 1) * width), (height - 1 - y) * width);
    return result;
  }

  /** White on black, as a promise of a Blob. */
  toPng() { return new Promise((resolve) => this.canvas.toBlob(resolve, "image/png")); }

  /** Show pictures faintly: [{pixels (x fastest, y up), width, height, colour: "#rrggbb"}]. */
  onion(layers) {
    this.#layers = layers;
    const context = this.skin.getContext("2d");
    context.clearRect(0, 0, this.width, this.height);
    for (const { pixels, width, height, colour } of layers) {
      const number = parseInt((colour ?? "#7fc4ff").slice(1), 16), one = new OffscreenCanvas(width, height);
      const picture = new ImageData(width, height);
      for (let y = 0; y < height; y++) {
        for (let x = 0; x < width; x++) {
          picture.data.set([number >> 16, (number >> 8) & 255, number & 255, 0.35 * pixels[x + (height - 1 - y) * width]], 4 * (x + y * width));
        }
      }
      one.getContext("2d").putImageData(picture, 0, 0);
      context.drawImage(one, 0, 0, this.width, this.height);
    }
    this.#drawTools();
  }

  undo() {
    const before = this.#undo.pop();
    if (!before) return;
    this.grey.set(before);
    this.#changed(0, 0, this.width, this.height);
  }

  clear() {
    this.#keep();
    this.grey.fill(0);
    this.#changed(0, 0, this.width, this.height);
  }

  #set(background) {
    const { width, height } = this;
    for (let y = 0; y < height; y++) this.grey.set(background.subarray(y * width, (y + 1) * width), (height - 1 - y) * width);
  }

  #keep() {
    this.#undo.push(this.grey.slice());
    if (this.#undo.length > MOST_UNDO) this.#undo.shift();
  }

  #drawTools() {
    const tool = (name) => { this.tool = name; this.#drawTools(); };
    const range = (id, label, value, least, most, step, set) => html`<label>${label} <input type="range" data-id=${id} min=${least} max=${most} step=${step}
      .value=${String(value)} @input=${(event) => { set(Number(event.target.value)); this.#drawTools(); }}></label>`;
    render(html`
      ${Object.entries(TOOLS).map(([name, [words, key]]) => html`<button data-do=${name} aria-pressed=${this.tool === name}
        title="${words} (${key.toUpperCase()})" @click=${() => tool(name)}>${words}</button>`)}
      ${range("paint-size", `Size ${this.size} px`, this.size, 2, 200, 1, (value) => { this.size = value; })}
      ${range("paint-soft", "Soft edge", this.soft, 0, 1, 0.05, (value) => { this.soft = value; })}
      ${this.#layers.length ? html`<button data-do="paint-onion" aria-pressed=${!this.skin.hidden} title="Show neighbouring shapes"
        @click=${() => { this.skin.hidden = !this.skin.hidden; this.#drawTools(); }}>Onion skin</button>` : nothing}
      <button data-do="paint-undo" title="Undo a stroke (Ctrl+Z)" @click=${() => this.undo()}>Undo</button>
      <button data-do="paint-clear" @click=${() => this.clear()}>Clear</button>
      <span class="grow"></span>
      ${this.cancel ? html`<button data-do="paint-cancel" @click=${() => this.cancel()}>Cancel</button>` : nothing}
      ${this.done ? html`<button class="main" data-do="paint-done" @click=${() => this.done(this)}>Keep</button>` : nothing}`, this.tools);
  }

  #fit() {
    const { clientWidth, clientHeight } = this.element;
    const room = clientHeight - this.tools.offsetHeight - 12;
    this.pixel = Math.max(0.05, Math.min((clientWidth - 8) / this.width, room / this.height));
    this.frame.style.width = `${this.pixel * this.width}px`;
    this.frame.style.height = `${this.pixel * this.height}px`;
  }

  #point(event) {
    const box = this.canvas.getBoundingClientRect();
    return [((event.clientX - box.left) * this.width) / box.width, ((event.clientY - box.top) * this.height) / box.height];
  }

  #down(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    const point = this.#point(event);
    this.#keep();
    if (this.tool === "fill") return this.#fill(point);
    this.#stroke = point;
    this.#dab(point, point);
  }

  #move(event) {
    const point = this.#point(event), side = this.size * this.pixel;
    this.ring.hidden = this.tool === "fill";
    Object.assign(this.ring.style, { width: `${side}px`, height: `${side}px`, left: `${point[0] * this.pixel - side / 2}px`, top: `${point[1] * this.pixel - side / 2}px` });
    if (!this.#stroke) return;
    this.#dab(this.#stroke, point);
    this.#stroke = point;
  }

  /** A brush drawn from one point to another: full inside, falling to nothing over the soft part of its radius. */
  #dab([ax, ay], [bx, by]) {
    const { width, height, grey } = this, radius = this.size / 2, edge = Math.max(1, this.soft * radius);
    const x0 = Math.max(0, Math.floor(Math.min(ax, bx) - radius)), x1 = Math.min(width, Math.ceil(Math.max(ax, bx) + radius));
    const y0 = Math.max(0, Math.floor(Math.min(ay, by) - radius)), y1 = Math.min(height, Math.ceil(Math.max(ay, by) + radius));
    const dx = bx - ax, dy = by - ay, length = dx * dx + dy * dy || 1;
    const erase = this.tool === "eraser";
    for (let y = y0; y < y1; y++) {
      for (let x = x0; x < x1; x++) {
        const px = x + 0.5 - ax, py = y + 0.5 - ay, part = Math.max(0, Math.min(1, (px * dx + py * dy) / length));
        const distance = Math.hypot(px - part * dx, py - part * dy);
        const level = 255 * Math.max(0, Math.min(1, (radius - distance) / edge));
        const at = x + y * width;
        grey[at] = erase ? Math.min(grey[at], 255 - level) : Math.max(grey[at], level);
      }
    }
    this.#changed(x0, y0, x1 - x0, y1 - y0);
  }

  /** Fill what is connected to a point: empty parts become full, full ones empty. */
  #fill([fx, fy]) {
    const { width, height, grey } = this, start = Math.floor(fx) + Math.floor(fy) * width;
    const full = grey[start] > 127, stack = [start], seen = new Uint8Array(width * height);
    while (stack.length) {
      const at = stack.pop();
      if (seen[at] || grey[at] > 127 !== full) continue;
      seen[at] = 1;
      const x = at % width;
      if (x > 0) stack.push(at - 1);
      if (x < width - 1) stack.push(at + 1);
      if (at >= width) stack.push(at - width);
      if (at < width * (height - 1)) stack.push(at + width);
    }
    for (let at = 0; at < seen.length; at++) if (seen[at]) grey[at] = full ? 0 : 255;
    // The soft rim between what was filled and the line around it would stay as a seam.
    if (!full) this.#closeSeam(seen);
    this.#changed(0, 0, width, height);
  }

  #closeSeam(seen) {
    const { width, height, grey } = this, rim = [];
    for (let y = 1; y < height - 1; y++) {
      for (let x = 1; x < width - 1; x++) {
        const at = x + y * width;
        if (!seen[at] && grey[at] < 255 && (seen[at - 1] || seen[at + 1] || seen[at - width] || seen[at + width])) rim.push(at);
      }
    }
    for (const at of rim) grey[at] = 255;
  }

  #changed(x, y, width, height) {
    this.#show(x, y, width, height);
    this.element.dispatchEvent(new CustomEvent("paint", { bubbles: true }));
  }

  #show(x0, y0, width, height) {
    if (width <= 0 || height <= 0) return;
    const picture = new ImageData(width, height);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const value = this.grey[x0 + x + (y0 + y) * this.width], at = 4 * (x + y * width);
        picture.data[at] = picture.data[at + 1] = picture.data[at + 2] = value;
        picture.data[at + 3] = 255;
      }
    }
    this.canvas.getContext("2d").putImageData(picture, x0, y0);
  }

  #key(event) {
    const tool = Object.entries(TOOLS).find(([, [, key]]) => key === event.key.toLowerCase());
    if ((event.ctrlKey || event.metaKey) && event.key === "z") this.undo();
    else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (tool) this.tool = tool[0];
    else if (event.key === "[") this.size = Math.max(2, Math.round(this.size / 1.25));
    else if (event.key === "]") this.size = Math.min(200, Math.round(this.size * 1.25));
    else if (event.key === "Escape" && this.cancel) return this.cancel();
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.#drawTools();
  }

  leave() {
    this.resizer.disconnect();
    this.element.remove();
  }
}

/** The box of what counts as ink in the engine, in pixels: {lower: [x, y], upper: [x, y]}, y up; null if there is none. */
export function inkBox(pixels, width, height) {
  let [x0, y0, x1, y1] = [width, height, 0, 0];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (pixels[x + y * width] < INK) continue;
      x0 = Math.min(x0, x);
      x1 = Math.max(x1, x + 1);
      y0 = Math.min(y0, y);
      y1 = Math.max(y1, y + 1);
    }
  }
  return x1 > x0 ? { lower: [x0, y0], upper: [x1, y1] } : null;
}
