// A flat picture of the stage: the whole of a 2D scene, or a 3D one seen along an axis.

const MARGIN = 26;

/** Views of a scene by its number of axes and which of them is up. */
export function viewsOf(dim, up) {
  if (dim === 2) return [{ key: "flat", label: "", right: 0, up: 1 }];
  if (up === "z") {
    return [{ key: "y", label: "Front", right: 0, up: 2 }, { key: "x", label: "Side", right: 1, up: 2 },
      { key: "z", label: "Top", right: 0, up: 1 }];
  }
  return [{ key: "z", label: "Front", right: 0, up: 1 }, { key: "x", label: "Side", right: 2, up: 1, turned: true },
    { key: "y", label: "Top", right: 0, up: 2, flipped: true }];
}

export class FlatView {
  #wanted = false;

  /** stage: gives `bodies`, `frame`, `selected`, `styles`; domain: sizes of all axes, metres. */
  constructor(host, view, domain, stage) {
    Object.assign(this, view, { stage });
    /** Its name among the arrays of a body, its two axes in the order of arrays, and the axis it looks along. */
    this.name = view.key === "flat" ? "" : view.key;
    this.plane = [Math.min(view.right, view.up), Math.max(view.right, view.up)];
    this.axis = view.key === "flat" ? 2 : "xyz".indexOf(view.key);
    this.sense = this.axis === 1 ? -1 : 1;
    this.size = this.plane.map((axis) => domain[axis]);
    this.extent = [domain[view.right], domain[view.up]];
    this.element = document.createElement("div");
    this.element.className = "stage-view";
    this.element.dataset.id = `view-${view.key}`;
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", `Stage ${view.label}: arrow keys move the chosen shape by a cell`);
    this.element.append(this.canvas);
    if (view.label) {
      const label = document.createElement("span");
      label.className = "stage-label quiet";
      label.textContent = view.label;
      this.element.append(label);
    }
    host.append(this.element);
    this.resizer = new ResizeObserver(() => this.#fit());
    this.resizer.observe(this.element);
    this.#fit();
  }

  #fit() {
    const { width, height } = this.element.getBoundingClientRect();
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.ratio = ratio;
    this.pixels = Math.max(1e-6, Math.min((width - 2 * MARGIN) / this.extent[0], (height - 2 * MARGIN) / this.extent[1]));
    const left = (width - this.pixels * this.extent[0]) / 2, top = (height - this.pixels * this.extent[1]) / 2;
    // From metres in the plane to pixels: y goes down on the screen; a turned view has its first axis upright.
    const across = this.turned ? new DOMMatrix([0, -1, -1, 0, this.extent[0], this.extent[1]])
      : new DOMMatrix([1, 0, 0, this.flipped ? 1 : -1, 0, this.flipped ? 0 : this.extent[1]]);
    this.matrix = new DOMMatrix().translate(left, top).scale(this.pixels).multiply(across);
    this.draw();
  }

  /** Pixels of a point in the plane, and back. */
  toScreen([x, y]) {
    const point = this.matrix.transformPoint({ x, y });
    return [point.x, point.y];
  }

  toPlane([x, y]) {
    const point = this.matrix.inverse().transformPoint({ x, y });
    return [point.x, point.y];
  }

  /** Where the mouse is, in pixels of the view. */
  pointer(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  draw() {
    if (this.#wanted) return;
    this.#wanted = true;
    requestAnimationFrame(() => {
      this.#wanted = false;
      if (this.matrix) this.#draw();
    });
  }

  #draw() {
    const { stage, canvas } = this, { styles } = stage;
    const context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    const base = new DOMMatrix().scale(this.ratio).multiply(this.matrix);
    context.setTransform(base);
    context.fillStyle = styles.getPropertyValue("--paper");
    context.fillRect(0, 0, this.size[0], this.size[1]);
    context.lineWidth = 1 / this.pixels;
    context.strokeStyle = styles.getPropertyValue("--edge");
    context.strokeRect(0, 0, this.size[0], this.size[1]);
    const bodies = [...stage.bodies.values()];
    // The chosen one last, so that nothing hides it.
    bodies.sort((one, two) => (one.id === stage.selected) - (two.id === stage.selected));
    for (const body of bodies) this.#drawBody(context, base, body);
    this.handles?.draw(context, new DOMMatrix().scale(this.ratio));
  }

  #drawBody(context, base, body) {
    const { stage } = this;
    const layer = body.layer(this, stage.styles);
    const chosen = body.id === stage.selected, present = body.present(stage.frame);
    if (!layer) return;
    context.setTransform(base.multiply(body.moved(this)));
    context.globalAlpha = present ? (chosen ? 0.75 : 0.6) : chosen ? 0.35 : stage.onion ? 0.12 : 0;
    if (context.globalAlpha > 0) {
      context.save();
      context.scale(layer.steps[0], layer.steps[1]);
      context.drawImage(layer.image, 0, 0);
      context.restore();
    }
    context.globalAlpha = chosen || present ? 1 : 0.45;
    context.strokeStyle = body.colour(stage.styles);
    context.lineWidth = (chosen ? 2 : 1) / this.pixels;
    context.setLineDash(present ? [] : [5 / this.pixels, 4 / this.pixels]);
    context.stroke(layer.path);
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  leave() { this.resizer.disconnect(); }
}
