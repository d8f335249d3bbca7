// The stage's tools: a new start, keyframe, source or obstacle as a shape, a typed text, a painting or a file.
import { put } from "../api.js";
import { html, nothing, render } from "../vendor/lit-html/lit-html.js";
import { tidy } from "./handles.js";
import { inkBox, Paint } from "./paint.js";
import { typeInPlace } from "./type_in_place.js";

const SHAPES = { 2: ["disk", "ring", "box", "capsule", "star", "cross", "heart"],
  3: ["sphere", "torus", "box", "capsule", "cylinder", "cone", "star", "cross", "heart"] };
const ROLES = { keyframe: "Keyframe", start: "Start", source: "Source", obstacle: "Obstacle" };
const PAINT_SIDE = 384;

export class StageMaker {
  role = "keyframe";
  shape = "disk";

  constructor(element, stage) {
    Object.assign(this, { element, stage });
    this.draw();
  }

  draw() {
    const { stage } = this, shapes = SHAPES[stage.dim ?? 2], solid = this.role === "obstacle";
    if (!shapes.includes(this.shape)) this.shape = shapes[0];
    render(html`
      <label>New <select data-id="add-role" aria-label="What to add" .value=${this.role} @change=${(event) => { this.role = event.target.value; this.draw(); }}>
        ${Object.entries(ROLES).map(([role, words]) => html`<option value=${role}>${words}</option>`)}</select></label>
      <select data-id="add-shape-name" aria-label="Shape" .value=${this.shape} @change=${(event) => { this.shape = event.target.value; }}>
        ${shapes.map((shape) => html`<option value=${shape}>${shape}</option>`)}</select>
      <button data-do="add-shape" @click=${() => this.addShape()}>Add shape</button>
      ${solid ? nothing : html`<button data-do="add-text" @click=${() => this.type(stage.views[0], null)}>Text</button>
        <button data-do="add-paint" @click=${() => this.paint(null)}>Paint</button>`}
      <button data-do="add-file" @click=${() => stage.drop_.choose()}>File…</button>
      <span class="grow"></span>
      <button data-do="onion" aria-pressed=${stage.onion} title="Show shapes of other frames faintly"
        @click=${() => { stage.onion = !stage.onion; this.draw(); stage.redraw(); }}>Onion skin</button>`, this.element);
  }

  /** Where entries of the chosen role are in the scene, and what a new one has. */
  entry(role = this.role) {
    const { data } = this.stage.state;
    if (role === "start") return { path: data?.liquid ? "liquid.initial" : "smoke.initial", table: {} };
    if (role === "keyframe") return { path: "keyframe", table: { frame: this.#freeFrame() } };
    return { path: role, table: {} };
  }

  /** The frame that is shown, or the nearest one without a keyframe: a kind of smoke has one target at a time. */
  #freeFrame() {
    const { frames, frame } = this.stage, from = frame || frames;
    const taken = new Set((this.stage.state.data?.keyframe ?? []).flatMap(({ frame: first, until }) => [first, until ?? first]));
    const near = Array.from({ length: frames }, (_, i) => i + 1).sort((one, two) => Math.abs(one - from) - Math.abs(two - from));
    return near.find((one) => !taken.has(one)) ?? from;
  }

  /** The id that the next entry will have. */
  next(path) {
    const entries = path.split(".").reduce((node, key) => node?.[key], this.stage.state.data) ?? [];
    return `${path}[${Array.isArray(entries) ? entries.length : 1}]`;
  }

  /** A new body with these keys; it becomes the chosen one. */
  async add(keys, role = this.role) {
    const { stage } = this, { path, table } = this.entry(role), id = this.next(path);
    await stage.state.change([{ path, insert: { ...table, ...keys } }], `Add ${ROLES[role].toLowerCase()}`);
    if (table.frame !== undefined) stage.go(table.frame);
    stage.await(id);
  }

  addShape() {
    const middle = this.stage.size.map((side) => tidy(side / 2));
    return this.add({ shape: this.shape, center: middle });
  }

  /** Type a new text, or change the one of a body; it is drawn as it grows. */
  type(view, body) {
    const { stage } = this, { path, table } = this.entry();
    const id = body?.id ?? this.next(path);
    const center = body ? body.now.center : stage.size.map((side) => tidy(side / 2));
    if (!body && table.frame !== undefined) stage.go(table.frame);
    const changes = (text) => (body ? [{ path: `${id}.text`, value: text }] : [{ path, insert: { ...table, text, center } }]);
    typeInPlace(view, view.toScreen(view.plane.map((axis) => center[axis])), body ? this.#textOf(id) : "", {
      input: (text) => text && stage.try(changes(text), [id]),
      done: (text) => {
        if (!text) return stage.try(null);
        stage.drop("Type text", changes(text));
        return stage.await(id);
      },
      cancel: () => {
        stage.try(null);
        if (!body) stage.bodies.delete(id);
      },
    });
  }

  #textOf(id) {
    const [, path, index] = id.match(/^(.*)\[(\d+)\]$/);
    const entries = path.split(".").reduce((node, key) => node?.[key], this.stage.state.data);
    return (Array.isArray(entries) ? entries[index] : entries)?.text ?? "";
  }

  /** Paint over the front view: a new body, or the picture of one. */
  paint(body) {
    if (this.painting) return;
    const { stage } = this, view = stage.views[0], [nx, ny] = view.plane.map((axis) => stage.cells[axis]);
    const factor = Math.max(1, Math.round(PAINT_SIDE / Math.max(nx, ny)));
    const [width, height] = [nx * factor, ny * factor];
    const layer = (one) => one.layer(view, stage.styles);
    const shown = body && layer(body);
    this.painting = new Paint(view.element, {
      width, height, background: shown ? enlarged(shown.values, shown.shape, width, height) : undefined,
      done: (paint) => this.#painted(paint, body), cancel: () => this.#putAway(),
    });
    const others = this.#neighbours(body).map((one) => ({ pixels: layer(one).values, width: layer(one).shape[0], height: layer(one).shape[1], colour: one.colour(stage.styles) }));
    this.painting.onion(others);
  }

  /** The bodies before and after the frame that is painted. */
  #neighbours(body) {
    const { stage } = this, frame = body?.facts.frame ?? this.entry().table.frame ?? 0;
    const others = [...stage.bodies.values()].filter((one) => one !== body && ["start", "keyframe"].includes(one.facts.role) && one.layer(stage.views[0], stage.styles));
    const before = others.filter((one) => one.facts.frame < frame).sort((a, b) => b.facts.frame - a.facts.frame);
    const after = others.filter((one) => one.facts.frame > frame).sort((a, b) => a.facts.frame - b.facts.frame);
    const obstacles = [...stage.bodies.values()].filter((one) => one.facts.role === "obstacle" && one.layer(stage.views[0], stage.styles));
    return [...before.slice(0, 1), ...after.slice(0, 1), ...obstacles];
  }

  async #painted(paint, body) {
    const { stage } = this, view = stage.views[0], box = inkBox(paint.pixels(), paint.width, paint.height);
    if (!box) return stage.app.say("Nothing is painted yet.");
    const center = [...(body?.now.center ?? stage.size.map((side) => side / 2))];
    const side = (axis, i) => (stage.size[axis] * (box.upper[i] - box.lower[i])) / [paint.width, paint.height][i];
    view.plane.forEach((axis, i) => {
      center[axis] = (stage.size[axis] * (box.lower[i] + box.upper[i])) / 2 / [paint.width, paint.height][i];
    });
    const fit = Math.max(...view.plane.map((axis, i) => side(axis, i) / stage.size[axis]));
    const frame = body?.facts.frame ?? this.entry().table.frame ?? 0;
    const png = await paint.toPng();
    const saved = await stage.app.try(put("file", { scene: stage.state.path, name: `painted-${frame}.png` }, png));
    if (!saved) return undefined;
    const keys = { image: saved.name, center: center.map(tidy), fit: Number(fit.toPrecision(6)) };
    this.#putAway();
    if (!body) return this.add(keys);
    const rest = { scale: 1, rotation: 0 };
    const set = { ...keys, ...(body.facts.scale === 1 ? {} : { scale: rest.scale }), ...(body.facts.rotation ? { rotation: rest.rotation } : {}) };
    return stage.state.change(Object.entries(set).map(([key, value]) => ({ path: `${body.id}.${key}`, value })), "Paint");
  }

  #putAway() {
    this.painting?.leave();
    this.painting = null;
    this.stage.redraw();
  }

  leave() { this.#putAway(); }
}

/** Values on a finer grid, linear between the middles of cells. */
function enlarged(values, [nx, ny], width, height) {
  const result = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) {
    const v = Math.min(ny - 1, Math.max(0, ((y + 0.5) * ny) / height - 0.5)), j = Math.min(ny - 2, Math.floor(v)), fy = v - j;
    for (let x = 0; x < width; x++) {
      const u = Math.min(nx - 1, Math.max(0, ((x + 0.5) * nx) / width - 0.5)), i = Math.min(nx - 2, Math.floor(u)), fx = u - i;
      const at = i + j * nx;
      result[x + y * width] = (values[at] * (1 - fx) + values[at + 1] * fx) * (1 - fy) + (values[at + nx] * (1 - fx) + values[at + nx + 1] * fx) * fy;
    }
  }
  return result;
}
