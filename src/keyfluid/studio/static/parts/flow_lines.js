// Velocities and forces over a picture: arrows of a length that grows with their size, or streamlines.

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** A field of vectors on blocks of cells: `values` has the parts of each vector side by side, x fastest. */
export class Vectors {
  constructor({ header, arrays }, name, cells, spacing) {
    const dim = cells.length;
    Object.assign(this, { dim, values: arrays[name], largest: header.largest, unit: header.unit });
    this.shape = cells.map((count) => Math.ceil(count / header.block));
    this.step = header.block * spacing;
    this.size = cells.map((count) => count * spacing);
  }

  /** The vector at a place in metres, from the nearest blocks; zero outside of the domain. */
  at(place) {
    const found = new Array(this.dim).fill(0);
    if (place.some((x, axis) => x < 0 || x > this.size[axis])) return found;
    const low = place.map((x, axis) => clamp(x / this.step - 0.5, 0, this.shape[axis] - 1));
    const base = low.map(Math.floor);
    for (let corner = 0; corner < 1 << this.dim; corner++) {
      let weight = 1;
      let index = 0;
      for (let axis = this.dim - 1; axis >= 0; axis--) {
        const up = corner >> axis & 1;
        const f = low[axis] - base[axis];
        weight *= up ? f : 1 - f;
        index = index * this.shape[axis] + Math.min(base[axis] + up, this.shape[axis] - 1);
      }
      for (let axis = 0; axis < this.dim; axis++) found[axis] += weight * this.values[index * this.dim + axis];
    }
    return found;
  }

  /** Middles of blocks, at most about `most` a side, metres. */
  places(most) {
    const every = Math.max(1, Math.ceil(Math.max(...this.shape) / most));
    const axes = this.shape.map((count) => {
      const found = [];
      for (let i = Math.floor(every / 2); i < count; i += every) found.push((i + 0.5) * this.step);
      return found;
    });
    this.gap = every * this.step;
    return axes.reduce((all, line) => all.flatMap((start) => line.map((x) => [...start, x])), [[]]);
  }

  /** Lines along the field from evenly spaced places, each a list of places in metres. */
  streamlines(most) {
    const lines = [];
    const least = 0.02 * this.largest;
    const steps = this.dim === 2 ? 28 : 10;
    for (const seed of this.places(most)) {
      if (this.dim === 3 && Math.hypot(...this.at(seed)) < 0.1 * this.largest) continue;
      const line = [seed];
      let place = seed;
      for (let step = 0; step < steps; step++) {
        const speed = this.at(place);
        const size = Math.hypot(...speed);
        if (size < least) break;
        const middle = this.at(place.map((x, axis) => x + 0.25 * this.gap * speed[axis] / size));
        const length = Math.hypot(...middle);
        if (length < least) break;
        place = place.map((x, axis) => x + 0.5 * this.gap * middle[axis] / length);
        line.push(place);
      }
      if (line.length > 3) lines.push(line);
    }
    return lines;
  }
}

/** Draw on a canvas; `project` takes metres to pixels. style: "arrows" or "streamlines". */
export function drawVectors(context, vectors, project, style, colour) {
  if (!(vectors.largest > 0)) return;
  context.strokeStyle = context.fillStyle = colour;
  const flat = vectors.dim === 2;
  if (style === "streamlines") {
    context.lineWidth = 1.2;
    for (const line of vectors.streamlines(flat ? 14 : 6)) streamline(context, line.map(project));
    return;
  }
  for (const place of vectors.places(flat ? 24 : 8)) {
    const vector = vectors.at(place);
    const size = Math.hypot(...vector) / vectors.largest;
    if (size < 0.03) continue;
    const length = 0.95 * vectors.gap * Math.sqrt(Math.min(size, 1)) / Math.hypot(...vector);
    const half = vector.map((part) => 0.5 * length * part);
    arrow(context, project(place.map((x, axis) => x - half[axis])), project(place.map((x, axis) => x + half[axis])));
  }
}

function arrow(context, [x0, y0], [x1, y1]) {
  const length = Math.hypot(x1 - x0, y1 - y0);
  if (!(length > 1.5)) return;
  const [u, v] = [(x1 - x0) / length, (y1 - y0) / length];
  const head = Math.min(0.36 * length, 7);
  context.lineWidth = clamp(0.07 * length, 1, 2);
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1 - u * head, y1 - v * head);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - u * head - v * 0.42 * head, y1 - v * head + u * 0.42 * head);
  context.lineTo(x1 - u * head + v * 0.42 * head, y1 - v * head - u * 0.42 * head);
  context.fill();
}

function streamline(context, points) {
  context.beginPath();
  points.forEach(([x, y], place) => (place ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.globalAlpha = 0.7;
  context.stroke();
  context.globalAlpha = 1;
  arrow(context, points.at(-3), points.at(-1));
}
