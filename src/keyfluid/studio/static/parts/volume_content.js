// From densities to what the 3D view draws: one texture with density, light and obstacles, and one with colours where
// fields differ in theirs.
import { floorLight, sky, softened3, transmittance } from "./volume_light.js";

/** shown: {cells, fields: [{values, colour}], solid (bytes) or null, view, spacing, floor}; see Volume.show. */
export function volumeContent(shown) {
  const { cells, fields, solid, view, spacing } = shown;
  const count = cells[0] * cells[1] * cells[2];
  const up = view.up === "z" ? [0, 0, 1] : [0, 1, 0];
  const amounts = fields.map(({ values, share = 1 }) => {
    const soft = softened3(values, cells);
    for (let i = 0; i < count; i++) soft[i] *= share / 255;
    return soft;
  });
  const total = amounts.length === 1 ? amounts[0] : sum(amounts, count);
  const perCell = Math.min(view.extinction * spacing, 8);
  const extinction = new Float32Array(count);
  for (let i = 0; i < count; i++) extinction[i] = total[i] * perCell;
  const covered = solid ? Float32Array.from(solid, (byte) => Math.min(Math.max(8 * byte / 255 - 3.5, 0), 1)) : null;
  const key = transmittance(extinction, covered, cells, view.light);
  const seen = sky(extinction, covered, cells, up);
  return {
    cells,
    bytes: packed(total, key, seen, solid, cells),
    albedo: amounts.length > 1 ? albedo(amounts, fields, total, count) : null,
    colour: fields[0]?.colour ?? [1, 1, 1],
    box: bounds(total, solid, cells),
    solids: Boolean(solid),
    floor: shown.floor ? floorLight(extinction, covered, cells, view.light, up) : null,
  };
}

function sum(amounts, count) {
  const total = new Float32Array(count);
  for (const one of amounts) for (let i = 0; i < count; i++) total[i] += one[i];
  return total;
}

/** Light that is scattered many times reaches deeper (kernels/raymarch.shade). */
const SCATTERED = Uint8Array.from({ length: 1025 }, (_, i) => {
  const t = i / 1024;
  return Math.round(255 * (6 * t + 2 * Math.sqrt(t) + t ** 0.25) / 9);
});

function packed(total, key, seen, solid, [nx, ny, nz]) {
  const bytes = new Uint8Array(4 * total.length);
  const [mx, my] = seen.cells;
  for (let z = 0, i = 0; z < nz; z++) {
    for (let y = 0; y < ny; y++) {
      const row = ((z >> 1) * my + (y >> 1)) * mx;
      for (let x = 0; x < nx; x++, i++) {
        bytes[4 * i] = Math.min(255, total[i] * 255 + 0.5);
        bytes[4 * i + 1] = SCATTERED[key[i] * 1024 | 0];
        bytes[4 * i + 2] = seen.values[row + (x >> 1)] * 255;
        bytes[4 * i + 3] = solid ? solid[i] : 0;
      }
    }
  }
  return bytes;
}

/** Roots of the mean colours, weighted by density. */
function albedo(amounts, fields, total, count) {
  const bytes = new Uint8Array(4 * count);
  for (let i = 0; i < count; i++) {
    if (total[i] < 1e-4) continue;
    for (let c = 0; c < 3; c++) {
      let mixed = 0;
      for (let f = 0; f < amounts.length; f++) mixed += amounts[f][i] * fields[f].colour[c];
      bytes[4 * i + c] = 255 * Math.sqrt(Math.min(mixed / total[i], 1)) + 0.5;
    }
  }
  return bytes;
}

/** The smallest box of cells that holds something, as shares of the domain; null if there is nothing. */
function bounds(total, solid, [nx, ny, nz]) {
  const [low, high] = [[nx, ny, nz], [-1, -1, -1]];
  for (let z = 0, i = 0; z < nz; z++) {
    for (let y = 0; y < ny; y++) {
      for (let x = 0; x < nx; x++, i++) {
        if (total[i] < 0.004 && !(solid && solid[i] > 120)) continue;
        if (x < low[0]) low[0] = x;
        if (x > high[0]) high[0] = x;
        if (y < low[1]) low[1] = y;
        if (y > high[1]) high[1] = y;
        if (z < low[2]) low[2] = z;
        if (z > high[2]) high[2] = z;
      }
    }
  }
  if (high[0] < 0) return null;
  const cells = [nx, ny, nz];
  return [low.map((x, axis) => Math.max(0, x - 1) / cells[axis]), high.map((x, axis) => Math.min(cells[axis], x + 2) / cells[axis])];
}

/** Normals of a mesh's vertices: means of its faces', weighted by their areas. Parts of a vector lie side by side. */
export function normalsOf(vertices, faces) {
  const normals = new Float32Array(vertices.length);
  for (let f = 0; f < faces.length; f += 3) {
    const [a, b, c] = [3 * faces[f], 3 * faces[f + 1], 3 * faces[f + 2]];
    const [ux, uy, uz] = [vertices[b] - vertices[a], vertices[b + 1] - vertices[a + 1], vertices[b + 2] - vertices[a + 2]];
    const [vx, vy, vz] = [vertices[c] - vertices[a], vertices[c + 1] - vertices[a + 1], vertices[c + 2] - vertices[a + 2]];
    const [x, y, z] = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
    for (const at of [a, b, c]) {
      normals[at] += x;
      normals[at + 1] += y;
      normals[at + 2] += z;
    }
  }
  return normals;
}
