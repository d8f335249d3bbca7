// Handles of the chosen body: move, scale, turn, way points; by mouse, pen, finger or keys.
import { turned } from "./turns.js";

const REACH = 11;
const STALK = 26;

export class Handles {
  #drag = null;

  /** view: a FlatView; stage: gives the chosen body and takes `drag(body, values, changes)` and `drop(label)`. */
  constructor(view, stage) {
    Object.assign(this, { view, stage });
    const { canvas } = view;
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", () => this.cancel());
    canvas.addEventListener("dblclick", (event) => this.stage.open(this.view, this.view.pointer(event)));
    canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Corners, the knob for turning, and way points of the chosen body, in pixels. */
  marks() {
    const { view, stage } = this, body = stage.body;
    if (!body) return [];
    const marks = [];
    const [a, b] = view.plane, { lower, upper } = body.box;
    const corners = [[lower[a], lower[b]], [upper[a], lower[b]], [upper[a], upper[b]], [lower[a], upper[b]]].map((c) => view.toScreen(c));
    const top = Math.min(...corners.map(([, y]) => y)), middle = (corners[0][0] + corners[2][0]) / 2;
    marks.box = corners;
    const way = stage.wayPoints(body);
    way.forEach((point, index) => marks.push({ mode: "way", index, at: view.toScreen([point.center[a], point.center[b]]) }));
    if (body.facts.fixed_place) return marks;
    if (!body.resized) corners.forEach((at) => marks.push({ mode: "scale", at }));
    const knob = top - STALK < 8 ? Math.max(...corners.map(([, y]) => y)) + STALK : top - STALK;
    if (!way.length) marks.push({ mode: "turn", at: [middle, knob], from: [middle, knob < top ? top : knob - STALK] });
    return marks;
  }

  draw(context, base) {
    const marks = this.marks(), { styles } = this.stage;
    if (!marks.box) return;
    context.setTransform(base);
    context.strokeStyle = styles.getPropertyValue("--accent");
    context.fillStyle = styles.getPropertyValue("--panel");
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    context.beginPath();
    marks.box.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.stroke();
    context.setLineDash([]);
    const way = marks.filter(({ mode }) => mode === "way");
    context.beginPath();
    way.forEach(({ at: [x, y] }, i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
    for (const { mode, at: [x, y], from, index } of marks) {
      context.beginPath();
      if (mode === "turn") {
        context.moveTo(...from);
        context.lineTo(x, y);
        context.stroke();
        context.beginPath();
        context.arc(x, y, 6, 0, 7);
      } else if (mode === "way") context.arc(x, y, index === this.stage.wayPoint ? 8 : 6, 0, 7);
      else context.rect(x - 5, y - 5, 10, 10);
      context.fill();
      context.stroke();
    }
  }

  #hit([x, y]) {
    const near = this.marks().filter(({ at }) => Math.hypot(at[0] - x, at[1] - y) < REACH);
    return near.at(-1) ?? null;
  }

  #down(event) {
    if (event.button !== 0) return;
    const { view, stage } = this, point = view.pointer(event), plane = view.toPlane(point);
    view.canvas.focus({ preventScroll: true });
    const found = this.#hit(point) ?? stage.pick(view, plane);
    if (!found || !stage.body || stage.body.facts.fixed_place) return;
    view.canvas.setPointerCapture(event.pointerId);
    if (found.mode === "way") stage.wayPoint = found.index;
    const { body } = stage, start = { ...body.now, rotation: body.now.rotation ?? body.facts.rotation };
    this.#drag = { ...found, from: plane, body, start, way: stage.wayPoints(body), moved: false };
    event.preventDefault();
  }

  #move(event) {
    const drag = this.#drag, { view } = this, point = view.pointer(event);
    if (!drag) {
      const mark = this.#hit(point);
      view.canvas.style.cursor = { scale: "nwse-resize", turn: "grab", way: "move" }[mark?.mode] ?? (this.stage.pick(view, view.toPlane(point), false) ? "move" : "default");
      return;
    }
    const plane = view.toPlane(point);
    if (!drag.moved && Math.hypot(...[0, 1].map((i) => (plane[i] - drag.from[i]) * view.pixels)) < 2) return;
    drag.moved = true;
    this.#apply(drag, plane, event.shiftKey);
  }

  #apply({ mode, body, start, from, way, index }, to, coarse) {
    const { view, stage } = this, [a, b] = view.plane;
    const shift = (center, step = coarse ? stage.spacing : 0) => center.map((value, i) => {
      const moved = value + (i === a ? to[0] - from[0] : i === b ? to[1] - from[1] : 0);
      return step && (i === a || i === b) ? Math.round(moved / step) * step : moved;
    });
    if (mode === "way") return stage.drag(body, body.now, stage.wayChanges(body, way.map((point, i) => (i === index ? shift(point.center) : point.center))));
    if (mode === "scale") {
      const far = Math.hypot(from[0] - start.center[a], from[1] - start.center[b]);
      const scale = start.scale * Math.max(0.02, Math.hypot(to[0] - start.center[a], to[1] - start.center[b]) / far);
      return this.#put(body, { ...start, scale: tidy(scale) }, "scale", tidy(scale));
    }
    if (mode === "turn") {
      const angle = (point) => Math.atan2(point[1] - start.center[b], point[0] - start.center[a]);
      let by = ((angle(to) - angle(from)) * 180) / Math.PI;
      if (coarse) by = Math.round(by / 15) * 15;
      return this.#turn(body, start, by * view.sense);
    }
    const center = shift(start.center);
    if (!way.length) return this.#put(body, { ...start, center }, "center", center.map((value, i) => tidy(value - (body.facts.moved?.[i] ?? 0))));
    const by = center.map((value, i) => value - start.center[i]);
    return stage.drag(body, { ...start, center }, stage.wayChanges(body, way.map((point) => point.center.map((value, i) => value + by[i]))));
  }

  #turn(body, start, by) {
    const { axis } = this.view, before = start.turn[axis] ?? 0;
    const rotation = turned(start.rotation ?? body.facts.rotation, axis, by, this.stage.dim);
    this.#put(body, { ...start, rotation, turn: { ...start.turn, [axis]: before + by } }, "rotation", rotation);
  }

  #put(body, place, key, value) { this.stage.drag(body, place, [{ path: `${body.id}.${key}`, value }]); }

  #up(event) {
    this.#move(event);
    const drag = this.#drag;
    this.#drag = null;
    if (drag?.moved) this.stage.drop({ scale: "Scale", turn: "Turn", way: "Move way point" }[drag.mode] ?? "Move");
  }

  /** Give up a drag: everything is where it was. */
  cancel() {
    if (!this.#drag) return false;
    this.#drag = null;
    this.stage.undrag();
    return true;
  }

  #key(event) {
    const { stage, view } = this, body = stage.body;
    if (event.key === "Escape") return this.cancel() || stage.select(null);
    if (event.ctrlKey || event.metaKey || event.altKey || !body) return;
    const step = stage.spacing * (event.shiftKey ? 10 : 1), [a, b] = view.plane;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const by = arrows[event.key];
    if (by) {
      const across = view.turned ? [by[1], -by[0]] : [by[0], view.flipped ? -by[1] : by[1]];
      const from = [body.now.center[a], body.now.center[b]];
      this.#apply({ body, start: body.now, from, way: stage.wayPoints(body), mode: stage.wayPoint === null ? "move" : "way", index: stage.wayPoint },
        [from[0] + across[0] * step, from[1] + across[1] * step], false);
      stage.drop("Move");
    } else if (event.key === "[" || event.key === "]") {
      this.#turn(body, body.now, (event.key === "[" ? 5 : -5) * view.sense);
      stage.drop("Turn");
    } else if ((event.key === "+" || event.key === "-") && !body.resized) {
      const scale = tidy(body.now.scale * (event.key === "+" ? 1.05 : 1 / 1.05));
      this.#put(body, { ...body.now, scale }, "scale", scale);
      stage.drop("Scale");
    } else if (event.key === "Delete" || event.key === "Backspace") stage.remove();
    else if (event.key === "Enter") stage.open(view, null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** Numbers as a person would write them. */
export const tidy = (value) => Number(value.toPrecision(4));
