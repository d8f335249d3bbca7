// A camera that orbits around a point, by mouse, wheel and keys; as render/camera.py has it.

const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const unit = (a) => { const size = Math.hypot(...a) || 1; return a.map((part) => part / size); };
const STEEPEST = 1.5;

export class Camera {
  /** view: position, look_at, fov (degrees over the height), aspect (that the domain needs) and up of a run. */
  constructor(view, size) {
    this.first = view;
    this.size = size;
    this.listeners = new Set();
    this.reset();
  }

  reset() {
    const { position, look_at, fov, up } = this.first;
    const arm = position.map((x, axis) => x - look_at[axis]);
    this.up = up === "z" ? [0, 0, 1] : [0, 1, 0];
    this.look_at = [...look_at];
    this.distance = Math.hypot(...arm);
    this.fov = fov * Math.PI / 180;
    const side = up === "z" ? [arm[0], -arm[1], arm[2]] : [arm[0], arm[2], arm[1]];
    this.azimuth = Math.atan2(side[0], side[1]);
    this.elevation = Math.asin(Math.min(Math.max(side[2] / this.distance, -1), 1));
    this.#tell();
  }

  /** Look along an axis: "x", "y" or "z". */
  along(axis) {
    const [azimuth, elevation] = { x: [Math.PI / 2, 0], y: [0, this.up[1] ? STEEPEST : 0], z: [0, this.up[2] ? STEEPEST : 0] }[axis];
    Object.assign(this, { azimuth, elevation });
    this.#tell();
  }

  /** Turn by angles in radians. */
  turn(azimuth, elevation) {
    this.azimuth += azimuth;
    this.elevation = Math.min(Math.max(this.elevation + elevation, -STEEPEST), STEEPEST);
    this.#tell();
  }

  zoom(factor) {
    const longest = Math.max(...this.size);
    this.distance = Math.min(Math.max(this.distance * factor, 0.2 * longest), 12 * longest);
    this.#tell();
  }

  /** Move the point that is looked at, in shares of the picture's height. */
  pan(across, upward) {
    const { right, top } = this.basis;
    const scale = 2 * this.distance * Math.tan(this.fov / 2);
    this.look_at = this.look_at.map((x, axis) => x + scale * (across * right[axis] + upward * top[axis]));
    this.#tell();
  }

  get position() {
    const [c, s] = [Math.cos(this.elevation), Math.sin(this.elevation)];
    const [a, b] = [c * Math.sin(this.azimuth), c * Math.cos(this.azimuth)];
    const arm = this.up[2] ? [a, -b, s] : [a, s, b];
    return this.look_at.map((x, axis) => x + this.distance * arm[axis]);
  }

  /** The picture's right and top, and the viewing direction. */
  get basis() {
    const position = this.position;
    const forward = unit(this.look_at.map((x, axis) => x - position[axis]));
    const right = unit(cross(forward, this.up));
    return { right, top: cross(right, forward), forward };
  }

  /** Half the height of the picture at distance 1; wider domains than the canvas move it away. */
  slope(aspect) { return Math.tan(this.fov / 2) * Math.max(1, (this.first.aspect ?? 1) / aspect); }

  /** From metres to clip space, as columns. */
  matrix(aspect) {
    const { right, top, forward } = this.basis;
    const position = this.position;
    const slope = this.slope(aspect);
    const longest = Math.max(...this.size);
    const [near, far] = [Math.max(0.02 * longest, this.distance - 4 * longest), this.distance + 6 * longest];
    const [a, b] = [(far + near) / (far - near), -2 * far * near / (far - near)];
    const rows = [right.map((x) => x / (slope * aspect)), top.map((x) => x / slope), forward.map((x) => a * x), forward];
    const moved = rows.map((row) => -dot(row, position));
    moved[2] += b;
    const found = new Float32Array(16);
    rows.forEach((row, r) => { row.forEach((x, c) => { found[4 * c + r] = x; }); found[12 + r] = moved[r]; });
    return found;
  }

  /** A function from metres to pixels of a canvas. */
  projector(width, height) {
    const m = this.matrix(width / height);
    return ([x, y, z]) => {
      const w = m[3] * x + m[7] * y + m[11] * z + m[15];
      const [u, v] = [0, 1].map((r) => (m[r] * x + m[4 + r] * y + m[8 + r] * z + m[12 + r]) / w);
      return w > 0 ? [(0.5 + 0.5 * u) * width, (0.5 - 0.5 * v) * height] : [NaN, NaN];
    };
  }

  /** Called whenever it moves; gives a function that ends it. */
  on(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  #tell() { for (const listener of this.listeners) listener(this); }

  /** Follow mouse, wheel and keys on an element. Shift or the middle button moves instead of turning. */
  follow(element) {
    element.addEventListener("pointerdown", (event) => {
      if (event.target !== element && event.target.closest("button, input, select")) return;
      element.setPointerCapture(event.pointerId);
      const pans = event.shiftKey || event.button === 1;
      const move = ({ movementX, movementY }) => {
        const height = element.clientHeight || 1;
        if (pans) this.pan(-movementX / height, movementY / height);
        else this.turn(-4 * movementX / height, 4 * movementY / height);
      };
      const end = () => {
        element.removeEventListener("pointermove", move);
        element.removeEventListener("pointerup", end);
        element.removeEventListener("pointercancel", end);
      };
      element.addEventListener("pointermove", move);
      element.addEventListener("pointerup", end);
      element.addEventListener("pointercancel", end);
    });
    element.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(0.0012 * event.deltaY));
    }, { passive: false });
  }

  /** Shortcuts, with their words, in a page's list of keys. */
  addKeys(keys) {
    keys.on("w", "Orbit up", () => this.turn(0, 0.12));
    keys.on("s", "Orbit down", () => this.turn(0, -0.12));
    keys.on("a", "Orbit left", () => this.turn(-0.15, 0));
    keys.on("d", "Orbit right", () => this.turn(0.15, 0));
    keys.on("+", "Closer", () => this.zoom(0.87));
    keys.on("-", "Farther", () => this.zoom(1.15));
    keys.on("0", "The scene's own camera", () => this.reset());
  }
}
