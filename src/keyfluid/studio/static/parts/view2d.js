// Smoke and liquid in two dimensions, drawn as render/plane.py and render/liquid.py draw them, with a target over it.
import { backdrop, BAYER, level, named, SOLID } from "./colours.js";
import { body, Enlarger, softened } from "./raster.js";

const DENSITY = 2.6; // optical depth of full smoke
const BULGE = 4; // cells from the edge over which a liquid seems to rise
const COVER = Float32Array.from({ length: 16385 }, (_, i) => 1 - Math.exp(-DENSITY * i / 4096));
const cover = (amount) => COVER[amount > 0 ? Math.min(16384, (amount * 4096 + 0.5) | 0) : 0];
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** A fluid is {fields: [{values, colour: linear}], full: the value at the peak}, or a liquid's {distance, colour}. */
export class View2d {
  #size = "";

  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  /** shown: {nx, ny, fluid, target?, solid?, mode, wipe, blend}; side: pixels of the longer side. */
  draw(shown, side) {
    const { nx, ny, mode, target } = shown;
    const scale = Math.max(1, side / Math.max(nx, ny));
    this.#resize(nx, ny, Math.max(1, Math.round(nx * scale)), Math.max(1, Math.round(ny * scale)));
    const over = target ? mode : "film";
    const image = this.image.data;
    if (over === "difference") this.#difference(shown.fluid, target);
    else this.#fluid(shown.fluid);
    if (shown.solid) this.#solid(shown.solid);
    this.#encode(image);
    if (over === "wipe" || over === "blend") {
      this.#fluid(target);
      if (shown.solid) this.#solid(shown.solid);
      const other = this.#encode(new Uint8ClampedArray(image.length));
      if (over === "blend") mix(image, other, shown.blend);
      else wipe(image, other, this.width, this.height, Math.round(shown.wipe * this.width));
    }
    if (over === "outline") this.#outline(image, target);
    this.context.putImageData(this.image, 0, 0);
  }

  #resize(nx, ny, width, height) {
    const size = `${nx} ${ny} ${width} ${height}`;
    if (size === this.#size) return;
    this.#size = size;
    Object.assign(this, { nx, ny, width, height, pixels: width * height });
    this.canvas.width = width;
    this.canvas.height = height;
    this.enlarger = new Enlarger(nx, ny, width, height);
    this.image = this.context.createImageData(width, height);
    this.image.data.fill(255);
    this.light = new Float32Array(3 * this.pixels);
    this.spare = [0, 1, 2, 3].map(() => new Float32Array(this.pixels));
    this.wall = Float32Array.from({ length: 3 * height }, (_, i) => backdrop((Math.floor(i / 3) + 0.5) / height)[i % 3]);
  }

  /** Densities over their peaks, all fields together. */
  #total(fluid) {
    const sum = new Float32Array(this.nx * this.ny);
    for (const { values } of fluid.fields) for (let i = 0; i < sum.length; i++) sum[i] += values[i] / fluid.full;
    return sum;
  }

  #fluid(fluid) {
    if (fluid.distance) return this.#liquid(fluid);
    const { nx, ny, width, height, light, wall, pixels } = this;
    const [lit, sum, layer] = this.spare;
    const total = this.#total(fluid);
    this.enlarger.enlarge(body(total, nx, ny), lit);
    sum.fill(0);
    light.fill(0);
    for (const { values, colour: [red, green, blue] } of fluid.fields) {
      this.enlarger.enlarge(softened(values, nx, ny, 1 / fluid.full), layer);
      for (let i = 0, j = 0; i < pixels; i++, j += 3) {
        const amount = layer[i] > 0 ? layer[i] : 0;
        sum[i] += amount;
        light[j] += amount * red;
        light[j + 1] += amount * green;
        light[j + 2] += amount * blue;
      }
    }
    for (let y = 0, i = 0, j = 0; y < height; y++) {
      for (let x = 0; x < width; x++, i++, j += 3) {
        const share = cover(sum[i]);
        const gain = sum[i] > 1e-6 ? share * lit[i] / sum[i] : 0;
        for (let c = 0; c < 3; c++) light[j + c] = gain * light[j + c] + (1 - share) * wall[3 * y + c];
      }
    }
    return undefined;
  }

  /** As if it bulged, lit from the upper left, with a gloss. */
  #liquid({ distance, colour }) {
    const { width, height, light, wall, nx } = this;
    const [depth, rise] = this.spare;
    const perCell = width / nx;
    this.enlarger.enlarge(distance, depth, 8 / 255);
    for (let i = 0; i < depth.length; i++) {
      depth[i] -= 4;
      const inner = clamp(depth[i] / BULGE, 0, 1);
      rise[i] = BULGE * perCell * Math.sqrt(Math.max(1 - (1 - inner) ** 2, 0)) * 0.6;
    }
    for (let y = 0, i = 0, j = 0; y < height; y++) {
      for (let x = 0; x < width; x++, i++, j += 3) {
        const share = clamp(0.5 + depth[i] * perCell, 0, 1);
        const right = rise[x < width - 1 ? i + 1 : i] - rise[x > 0 ? i - 1 : i];
        const down = rise[y < height - 1 ? i + width : i] - rise[y > 0 ? i - width : i];
        const size = 1 / Math.sqrt(0.25 * (right * right + down * down) + 1);
        const facing = clamp((0.25 * right + 0.325 * down + 0.57) * size, 0, 1);
        const gloss = 0.35 * clamp((0.141 * right + 0.183 * down + 0.886) * size, 0, 1) ** 40;
        for (let c = 0; c < 3; c++) {
          light[j + c] = share * (colour[c] * (0.25 + 0.95 * facing) + gloss) + (1 - share) * wall[3 * y + c];
        }
      }
    }
  }

  /** What both have is grey, what is missing has the colour of keyframes, what is too much that of warnings. */
  #difference(fluid, target) {
    const { nx, ny, width, height, light, wall } = this;
    const [have, want, mask] = this.spare;
    this.enlarger.enlarge(softened(this.#total(fluid), nx, ny, 1), have);
    this.enlarger.enlarge(softened(this.#total(target), nx, ny, 1), want);
    if (target.mask) this.enlarger.enlarge(target.mask, mask, 1 / 255);
    const colours = [named("--edge"), named("--keyframe"), named("--bad")];
    for (let y = 0, i = 0, j = 0; y < height; y++) {
      for (let x = 0; x < width; x++, i++, j += 3) {
        const counts = target.mask ? clamp(mask[i], 0, 1) : 1;
        const shares = [Math.min(have[i], want[i]), counts * (want[i] - have[i]), counts * (have[i] - want[i])];
        const all = Math.max(shares[0], 0) + Math.abs(shares[1]);
        const share = cover(all);
        for (let c = 0; c < 3; c++) {
          let mixed = 0;
          for (let k = 0; k < 3; k++) mixed += Math.max(shares[k], 0) * colours[k][c];
          light[j + c] = (all > 1e-6 ? share * mixed / all : 0) + (1 - share) * wall[3 * y + c];
        }
      }
    }
  }

  /** Obstacles: one matte colour, lighter along edges that face up. */
  #solid(distance) {
    const { width, height, light, nx } = this;
    const depth = this.spare[3];
    const perCell = width / nx;
    this.enlarger.enlarge(distance, depth, 8 / 255);
    for (let y = 0, i = 0, j = 0; y < height; y++) {
      for (let x = 0; x < width; x++, i++, j += 3) {
        const inside = depth[i] - 4;
        const share = clamp(0.5 + inside * perCell, 0, 1);
        if (share === 0) continue;
        const slope = (depth[y < height - 1 ? i + width : i] - depth[y > 0 ? i - width : i]) * 0.5 * perCell;
        const shade = 0.42 + 0.45 * clamp(slope * Math.exp(-Math.max(inside, 0) / 1.3), -0.5, 1);
        for (let c = 0; c < 3; c++) light[j + c] += share * (SOLID[c] * shade - light[j + c]);
      }
    }
  }

  #encode(bytes) {
    const { light, width, height } = this;
    for (let y = 0, j = 0, k = 0; y < height; y++) {
      const row = (y & 7) << 3;
      for (let x = 0; x < width; x++, j += 3, k += 4) {
        const up = BAYER[row | x & 7];
        bytes[k] = level(light[j]) + up | 0;
        bytes[k + 1] = level(light[j + 1]) + up | 0;
        bytes[k + 2] = level(light[j + 2]) + up | 0;
        bytes[k + 3] = 255;
      }
    }
    return bytes;
  }

  /** The target's edge, at half its largest value. */
  #outline(bytes, target) {
    const { width, height } = this;
    const field = this.spare[0];
    let half = 0.5;
    if (target.distance) this.enlarger.enlarge(target.distance, field, 1 / 255);
    else {
      const total = this.#total(target);
      half = 0.5 * total.reduce((most, value) => Math.max(most, value), 0);
      this.enlarger.enlarge(softened(total, this.nx, this.ny, 1), field);
    }
    if (half === 0) return;
    const thick = Math.max(1.2, Math.max(width, height) / 320);
    const colour = named("--warn").map(level);
    for (let y = 1; y < height - 1; y++) {
      for (let x = 1; x < width - 1; x++) {
        const i = y * width + x;
        const slope = 0.5 * Math.hypot(field[i + 1] - field[i - 1], field[i + width] - field[i - width]);
        const pixels = Math.abs(field[i] - half) / Math.max(slope, 1e-4);
        if (pixels > thick + 0.5) continue;
        const dark = 1 - 0.4 * clamp(thick + 0.5 - pixels, 0, 1);
        const share = clamp(0.5 * thick + 0.5 - pixels, 0, 1);
        for (let c = 0; c < 3; c++) bytes[4 * i + c] = dark * bytes[4 * i + c] * (1 - share) + share * colour[c];
      }
    }
  }
}

function mix(bytes, other, share) {
  for (let i = 0; i < bytes.length; i++) bytes[i] += share * (other[i] - bytes[i]);
}

/** The target from this column on. */
function wipe(bytes, other, width, height, column) {
  for (let y = 0; y < height; y++) {
    const [start, end] = [4 * (y * width + column), 4 * (y + 1) * width];
    bytes.set(other.subarray(start, end), start);
  }
}
