// Marching squares: the line along which a coverage passes half, as closed polygons.

/** Polygons [[x, y], ...] in cells (cell i spans i to i + 1) around what is at least `level` full.
 *  `values` has x fastest; what lies beyond the border counts as empty, so that every polygon is closed. */
export function outline(values, width, height, level = 127.5) {
  const at = (x, y) => (x < 0 || y < 0 || x >= width || y >= height ? 0 : values[x + y * width]);
  const next = new Map();
  // Edges of the dual grid are numbered; a polygon is walked from edge to edge, what is full on its left.
  const wide = width + 2;
  const flat = (x, y) => 2 * ((y + 1) * wide + x + 1);
  for (let y = -1; y < height; y++) {
    for (let x = -1; x < width; x++) {
      const a = at(x, y), b = at(x + 1, y), c = at(x + 1, y + 1), d = at(x, y + 1);
      const kind = (a > level) | ((b > level) << 1) | ((c > level) << 2) | ((d > level) << 3);
      if (kind === 0 || kind === 15) continue;
      const lower = flat(x, y), upper = flat(x, y + 1), left = flat(x, y) + 1, right = flat(x + 1, y) + 1;
      const steps = STEPS[kind === 5 && a + b + c + d > 4 * level ? 16 : kind === 10 && a + b + c + d > 4 * level ? 17 : kind];
      const edges = [lower, right, upper, left];
      for (const [from, to] of steps) next.set(edges[from], edges[to]);
    }
  }
  const place = (edge) => {
    const cell = edge >> 1, x = (cell % wide) - 1, y = Math.floor(cell / wide) - 1;
    const one = at(x, y), two = edge & 1 ? at(x, y + 1) : at(x + 1, y);
    const part = (level - one) / (two - one);
    return edge & 1 ? [x + 0.5, y + 0.5 + part] : [x + 0.5 + part, y + 0.5];
  };
  const polygons = [];
  while (next.size) {
    const polygon = [];
    let edge = next.keys().next().value;
    while (next.has(edge)) {
      const following = next.get(edge);
      next.delete(edge);
      polygon.push(place(edge));
      edge = following;
    }
    polygons.push(polygon);
  }
  return polygons;
}

// From which side of a square (0 below, 1 right, 2 above, 3 left) to which, by its full corners; 16, 17: 5 and 10 joined.
const STEPS = [
  [], [[0, 3]], [[1, 0]], [[1, 3]], [[2, 1]], [[0, 3], [2, 1]], [[2, 0]], [[2, 3]],
  [[3, 2]], [[0, 2]], [[1, 0], [3, 2]], [[1, 2]], [[3, 1]], [[0, 1]], [[3, 0]], [],
  [[0, 1], [2, 3]], [[3, 0], [1, 2]],
];

/** The same as a Path2D in metres; `steps`: length of a cell on each axis. */
export function outlinePath(values, width, height, steps) {
  const path = new Path2D();
  for (const polygon of outline(values, width, height)) {
    polygon.forEach(([x, y], i) => (i ? path.lineTo(x * steps[0], y * steps[1]) : path.moveTo(x * steps[0], y * steps[1])));
    path.closePath();
  }
  return path;
}
