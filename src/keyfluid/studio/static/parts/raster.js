// Fields of cells as pictures: enlarged by the cubic B-spline, which shows no steps on slanted edges, and blurred.
// Arrays are x fastest with y up; pictures have their first row on top (render/plane.py).

/** Weights of the four cells around each pixel along one axis; edge values are repeated beyond the edges. */
function spline(cells, pixels, flip) {
  const first = new Int32Array(4 * pixels);
  const weight = new Float32Array(4 * pixels);
  for (let pixel = 0; pixel < pixels; pixel++) {
    const place = ((flip ? pixels - 1 - pixel : pixel) + 0.5) * cells / pixels - 0.5;
    const base = Math.floor(place);
    const f = place - base;
    const parts = [(1 - f) ** 3, 3 * f ** 3 - 6 * f ** 2 + 4, -3 * f ** 3 + 3 * f ** 2 + 3 * f + 1, f ** 3];
    for (let k = 0; k < 4; k++) {
      first[4 * pixel + k] = Math.min(Math.max(base + k - 1, 0), cells - 1);
      weight[4 * pixel + k] = parts[k] / 6;
    }
  }
  return { first, weight };
}

/** Enlarges fields of nx x ny cells to width x height pixels. */
export class Enlarger {
  constructor(nx, ny, width, height) {
    Object.assign(this, { nx, ny, width, height });
    this.across = spline(nx, width, false);
    this.down = spline(ny, height, true);
    this.rows = new Float32Array(width * ny);
  }

  /** `values` (bytes or floats) times `scale`, into `out`. */
  enlarge(values, out, scale = 1) {
    const { nx, ny, width, height, across, down, rows } = this;
    for (let y = 0; y < ny; y++) {
      for (let x = 0; x < width; x++) {
        const k = 4 * x;
        const row = y * nx;
        rows[y * width + x] = scale * (across.weight[k] * values[row + across.first[k]]
          + across.weight[k + 1] * values[row + across.first[k + 1]] + across.weight[k + 2] * values[row + across.first[k + 2]]
          + across.weight[k + 3] * values[row + across.first[k + 3]]);
      }
    }
    for (let y = 0; y < height; y++) {
      const k = 4 * y;
      const [a, b, c, d] = [0, 1, 2, 3].map((i) => down.first[k + i] * width);
      const [p, q, r, s] = [0, 1, 2, 3].map((i) => down.weight[k + i]);
      const base = y * width;
      for (let x = 0; x < width; x++) out[base + x] = p * rows[a + x] + q * rows[b + x] + r * rows[c + x] + s * rows[d + x];
    }
    return out;
  }
}

/** Three running means, about a Gaussian of this width in cells; `edge`: values beyond the edges are repeated, not 0. */
export function blurred(values, nx, ny, sigma, edge = false) {
  const radius = Math.max(1, Math.round((Math.sqrt(4 * sigma * sigma + 1) - 1) / 2));
  let from = Float32Array.from(values);
  let into = new Float32Array(values.length);
  for (let pass = 0; pass < 3; pass++) {
    mean(from, into, nx, ny, 1, nx, radius, edge);
    mean(into, from, ny, nx, nx, 1, radius, edge);
  }
  return from;
}

function mean(from, into, count, lines, step, stride, radius, edge) {
  const share = 1 / (2 * radius + 1);
  for (let line = 0; line < lines; line++) {
    const base = line * stride;
    const at = (place) => (place >= 0 && place < count ? from[base + place * step]
      : edge ? from[base + Math.min(Math.max(place, 0), count - 1) * step] : 0);
    let sum = 0;
    for (let place = -radius; place < radius; place++) sum += at(place);
    for (let place = 0; place < count; place++) {
      sum += at(place + radius);
      into[base + place * step] = sum * share;
      sum -= at(place - radius);
    }
  }
}

/** A light blur, 1 : 6 : 1 along both axes: a Gaussian of half a cell. */
export function softened(values, nx, ny, scale) {
  const once = new Float32Array(values.length);
  const twice = new Float32Array(values.length);
  for (let y = 0; y < ny; y++) {
    for (let x = 0; x < nx; x++) {
      const i = y * nx + x;
      const left = x > 0 ? values[i - 1] : values[i];
      const right = x < nx - 1 ? values[i + 1] : values[i];
      once[i] = scale * (0.125 * (left + right) + 0.75 * values[i]);
    }
  }
  for (let y = 0; y < ny; y++) {
    for (let x = 0; x < nx; x++) {
      const i = y * nx + x;
      const below = y > 0 ? once[i - nx] : once[i];
      const above = y < ny - 1 ? once[i + nx] : once[i];
      twice[i] = 0.125 * (below + above) + 0.75 * once[i];
    }
  }
  return twice;
}

/** Light inside smoke as if it were as thick as dense, lit from the upper left: 0.5 to 1 (plane._body). */
export function body(density, nx, ny) {
  const reach = Math.max(nx, ny) / 8;
  const depth = new Float32Array(density.length);
  for (const step of [0.25, 0.5, 1]) {
    const soft = blurred(density, nx, ny, 0.35 * step * reach);
    const dx = Math.round(0.6 * step * reach);
    const dy = Math.round(0.8 * step * reach);
    for (let y = 0; y < ny; y++) {
      for (let x = 0; x < nx; x++) {
        if (x - dx >= 0 && y + dy < ny) depth[y * nx + x] += soft[(y + dy) * nx + x - dx] / 3;
      }
    }
  }
  for (let i = 0; i < depth.length; i++) depth[i] = 0.5 + 0.5 * Math.exp(-1.4 * Math.max(depth[i] - 0.25 * density[i], 0));
  return depth;
}
