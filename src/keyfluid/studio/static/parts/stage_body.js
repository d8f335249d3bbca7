// One body on the stage: the coverage that the server drew, and where it has been dragged since.
import { outlinePath } from "./outline.js";

const ROLES = { start: "Start", source: "Source", obstacle: "Obstacle", keyframe: "Keyframe" };

export class StageBody {
  #layers = new Map();

  constructor(facts) {
    this.facts = facts;
    this.arrays = {};
    this.at = placeOf(facts);
    this.now = this.at;
  }

  /** Take what the server drew for `values` (where the body was dragged to when it was asked). */
  update(facts, arrays, values) {
    this.facts = facts;
    this.arrays = arrays;
    this.at = values ?? placeOf(facts);
    this.#layers.clear();
  }

  get id() { return this.facts.id; }

  get title() {
    const { role, frame } = this.facts;
    return `${ROLES[role]}${role === "keyframe" ? ` ${frame}` : ""}`;
  }

  colour(styles) {
    const { role } = this.facts;
    return styles.getPropertyValue(`--${role}`).trim();
  }

  /** Whether it is there at a frame: others are shown faintly. */
  present(frame) {
    const { role, frame: first, until, hold } = this.facts;
    if (role === "start") return frame === 0;
    if (role === "source") return frame >= first && frame <= until;
    return role === "obstacle" || (frame >= first && frame <= (until ?? first) + (hold ?? 0));
  }

  /** Picture and outline for a view: {image, path, steps}; null while there is nothing to see. */
  layer(view, styles) {
    const found = this.arrays[view.name];
    if (!found) return null;
    if (!this.#layers.has(view.name)) {
      const [width, height] = found.shape;
      const steps = [view.size[0] / width, view.size[1] / height];
      const image = tinted(found.values, width, height, this.colour(styles));
      this.#layers.set(view.name, { image, path: outlinePath(found.values, width, height, steps), steps, ...found });
    }
    return this.#layers.get(view.name);
  }

  /** The change since the coverage was drawn, as a matrix in the plane of a view, metres. */
  moved(view) {
    const [a, b] = view.plane, { at, now } = this;
    const angle = ((now.turn?.[view.axis] ?? 0) - (at.turn?.[view.axis] ?? 0)) * view.sense * (Math.PI / 180);
    const scale = this.resized ? 1 : now.scale / at.scale;
    const matrix = new DOMMatrix().translate(now.center[a], now.center[b]);
    return matrix.rotate((angle * 180) / Math.PI).scale(scale).translate(-at.center[a], -at.center[b]);
  }

  /** The box around it where it is now: {lower, upper}, metres, all axes. */
  get box() {
    const { at, now, facts } = this;
    const scale = this.resized ? 1 : now.scale / at.scale;
    const corner = (values) => values.map((value, i) => now.center[i] + (value - at.center[i]) * scale);
    return { lower: corner(facts.lower), upper: corner(facts.upper) };
  }

  /** Whether the mass rule, not the person, says how large it is. */
  get resized() { return ["resize", "mass", "first-key"].includes(this.facts.rule) && !this.isFirstKey; }

  get isFirstKey() { return this.facts.role === "keyframe" && this.facts.rule === "first-key"; }

  /** Whether a point of a view (metres) is in it. */
  holds(view, point, styles) {
    const layer = this.layer(view, styles);
    if (!layer) return false;
    const { x, y } = this.moved(view).inverse().transformPoint({ x: point[0], y: point[1] });
    const i = Math.floor(x / layer.steps[0]), j = Math.floor(y / layer.steps[1]);
    if (i < 0 || j < 0 || i >= layer.shape[0] || j >= layer.shape[1]) return false;
    return layer.values[i + j * layer.shape[0]] > 25;
  }
}

/** {center, scale, turn: {axis: degrees turned by hand}} of what the server says of a body. */
function placeOf({ center, scale, moved }) {
  return { center: moved ? center.map((value, i) => value + moved[i]) : center, scale, turn: {} };
}

function tinted(values, width, height, colour) {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  const [r, g, b] = rgb(colour);
  const picture = context.createImageData(width, height);
  const pixels = picture.data;
  for (let i = 0; i < values.length; i++) {
    pixels[4 * i] = r;
    pixels[4 * i + 1] = g;
    pixels[4 * i + 2] = b;
    pixels[4 * i + 3] = values[i];
  }
  context.putImageData(picture, 0, 0);
  return canvas;
}

/** Red, green and blue, 0 to 255, of "#rrggbb". */
export function rgb(colour) {
  const number = parseInt(colour.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}
