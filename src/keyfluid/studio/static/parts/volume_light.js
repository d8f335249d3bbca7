// Light in a volume, computed once per frame: what reaches each cell from the key light and from the sky
// (render/lighting.py, kernels/raymarch.py). Arrays are x fastest.

/** Means of neighbours, 1 : 2 : 1 along each axis: linear interpolation of an edge shows every layer of cells. */
export function softened3(values, [nx, ny, nz]) {
  let from = Float32Array.from(values);
  let into = new Float32Array(values.length);
  for (const [count, step] of [[nx, 1], [ny, nx], [nz, nx * ny]]) {
    const outer = count * step;
    for (let start = 0; start < from.length; start += outer) {
      for (let i = 0; i < step; i++) {
        for (let k = 0, at = start + i; k < count; k++, at += step) {
          into[at] = 0.5 * from[at] + 0.25 * (from[k > 0 ? at - step : at] + from[k < count - 1 ? at + step : at]);
        }
      }
    }
    [from, into] = [into, from];
  }
  return from;
}

/** Share of far light from `towards` that reaches each cell; extinction per cell; solid: share covered, or null. */
export function transmittance(extinction, solid, cells, towards) {
  const lead = [0, 1, 2].reduce((most, axis) => (Math.abs(towards[axis]) > Math.abs(towards[most]) ? axis : most), 0);
  const [second, third] = [0, 1, 2].filter((axis) => axis !== lead);
  const steps = [1, cells[0], cells[0] * cells[1]];
  const [na, nb, nc] = [cells[lead], cells[second], cells[third]];
  const size = Math.abs(towards[lead]);
  const [moveB, moveC] = [towards[second] / size, towards[third] / size];
  const [wholeB, wholeC] = [Math.floor(moveB), Math.floor(moveC)];
  const [fb, fc] = [moveB - wholeB, moveC - wholeC];
  const [w00, w01, w10, w11] = [(1 - fb) * (1 - fc), fb * (1 - fc), (1 - fb) * fc, fb * fc];
  const half = 0.5 / size;
  const wide = nb + 4;
  const before = new Float32Array(wide * (nc + 4)).fill(1);
  const passed = new Float32Array(wide * (nc + 4));
  const found = new Float32Array(extinction.length);
  for (let a = 0; a < na; a++) {
    const slice = (towards[lead] > 0 ? na - 1 - a : a) * steps[lead];
    for (let c = 0; c < nc; c++) {
      for (let b = 0; b < nb; b++) {
        const at = slice + b * steps[second] + c * steps[third];
        const i = (c + wholeC + 2) * wide + b + wholeB + 2;
        const depth = w00 * passed[i] + w01 * passed[i + 1] + w10 * passed[i + wide] + w11 * passed[i + wide + 1] + extinction[at];
        let light = w00 * before[i] + w01 * before[i + 1] + w10 * before[i + wide] + w11 * before[i + wide + 1];
        if (depth > 0) light *= Math.exp(-half * depth);
        found[at] = solid ? light * (1 - solid[at]) : light;
      }
    }
    for (let c = 0; c < nc; c++) {
      for (let b = 0; b < nb; b++) {
        const at = slice + b * steps[second] + c * steps[third];
        const i = (c + 2) * wide + b + 2;
        before[i] = found[at];
        passed[i] = extinction[at];
      }
    }
  }
  return found;
}

/** Means over 2 x 2 x 2 cells; odd sides repeat their last layer. */
function halved(values, [nx, ny, nz]) {
  const [mx, my, mz] = [nx, ny, nz].map((count) => Math.ceil(count / 2));
  const found = new Float32Array(mx * my * mz);
  for (let z = 0; z < mz; z++) {
    for (let y = 0; y < my; y++) {
      for (let x = 0; x < mx; x++) {
        let sum = 0;
        for (let corner = 0; corner < 8; corner++) {
          const i = Math.min(2 * x + (corner & 1), nx - 1);
          const j = Math.min(2 * y + (corner >> 1 & 1), ny - 1);
          const k = Math.min(2 * z + (corner >> 2), nz - 1);
          sum += values[(k * ny + j) * nx + i];
        }
        found[(z * my + y) * mx + x] = sum / 8;
      }
    }
  }
  return { values: found, cells: [mx, my, mz] };
}

/** The part of the sky that cells of twice the size see: a mean of T^(1/2) over five directions. */
export function sky(extinction, solid, cells, up) {
  const coarse = halved(extinction, cells);
  for (let i = 0; i < coarse.values.length; i++) coarse.values[i] *= 2;
  const blocked = solid ? halved(solid, cells).values : null;
  const total = new Float32Array(coarse.values.length);
  for (let quarter = -1; quarter < 4; quarter++) {
    const angle = (20 + 90 * quarter) * Math.PI / 180;
    const flat = [0.8 * Math.cos(angle), 0.8 * Math.sin(angle)];
    const direction = quarter < 0 ? up : up[2] ? [flat[0], flat[1], 0.6] : [flat[0], 0.6, -flat[1]];
    const light = transmittance(coarse.values, blocked, coarse.cells, direction);
    const share = quarter < 0 ? 0.32 : 0.17;
    for (let i = 0; i < total.length; i++) total[i] += share * Math.sqrt(light[i]);
  }
  return { values: total, cells: coarse.cells };
}

/** Light on a floor three times as wide as the domain: bytes of `across` x `along` texels (backdrop.Floor). */
export function floorLight(extinction, solid, cells, towards, up) {
  const upward = up[2] ? 2 : 1;
  const axes = [0, 1, 2].filter((axis) => axis !== upward);
  const texel = Math.max(2, Math.max(...cells) / 24);
  const counts = axes.map((axis) => Math.ceil(3 * cells[axis] / texel));
  const bytes = new Uint8Array(counts[0] * counts[1]).fill(255);
  const steps = [1, cells[0], cells[0] * cells[1]];
  const stride = Math.max(1, Math.max(...cells) / 40);
  if (towards[upward] <= 0.05) return { bytes, counts };
  for (let v = 0; v < counts[1]; v++) {
    for (let u = 0; u < counts[0]; u++) {
      const place = [0, 0, 0];
      place[axes[0]] = (u + 0.5) * texel - cells[axes[0]];
      place[axes[1]] = (v + 0.5) * texel - cells[axes[1]];
      let depth = 0;
      for (let along = 0.5 * stride; place[upward] + along * towards[upward] < cells[upward] && depth < 6; along += stride) {
        let at = 0;
        for (let axis = 0; axis < 3 && at >= 0; axis++) {
          const i = Math.floor(place[axis] + along * towards[axis]);
          at = i < 0 || i >= cells[axis] ? -1 : at + i * steps[axis];
        }
        if (at >= 0) depth += stride * extinction[at] + (solid && solid[at] > 0.5 ? 6 : 0);
      }
      bytes[v * counts[0] + u] = 255 * Math.exp(-depth);
    }
  }
  return { bytes, counts };
}
