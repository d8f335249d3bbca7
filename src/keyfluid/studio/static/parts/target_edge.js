// The outline of a 3D target as it is seen: places on its surface that the view grazes, drawn over the smoke.

const GRAZING = 0.22; // cosine between surface normal and view below which a place is on the outline

/** Places and normals on the surface at half the target's density, in metres: six numbers each. */
export function edgeOf(info, { header, arrays }) {
  const [nx, ny, nz] = info.cells.map((count) => Math.ceil(count / header.block));
  const step = info.spacing * header.block;
  const found = [];
  const steps = [1, nx, nx * ny];
  for (const { name } of info.fields) {
    const values = arrays[name];
    if (!values) continue;
    for (let z = 1; z < nz - 1; z++) {
      for (let y = 1; y < ny - 1; y++) {
        for (let x = 1, i = (z * ny + y) * nx + 1; x < nx - 1; x++, i++) {
          for (let axis = 0; axis < 3; axis++) {
            const next = values[i + steps[axis]];
            if ((values[i] > 127) === (next > 127)) continue;
            const share = (127.5 - values[i]) / (next - values[i]);
            const normal = steps.map((one) => values[i - one] - values[i + one]);
            const size = Math.hypot(...normal) || 1;
            const place = [x, y, z].map((k, a) => (k + 0.5 + (a === axis ? share : 0)) * step);
            found.push(...place, ...normal.map((part) => part / size));
          }
        }
      }
    }
  }
  return Float32Array.from(found);
}

/** Draw the places that the camera sees from the side. */
export function drawEdge(context, edge, project, camera, colour) {
  const [ex, ey, ez] = camera.position;
  context.fillStyle = colour;
  for (let i = 0; i < edge.length; i += 6) {
    const [dx, dy, dz] = [edge[i] - ex, edge[i + 1] - ey, edge[i + 2] - ez];
    const facing = (dx * edge[i + 3] + dy * edge[i + 4] + dz * edge[i + 5]) / Math.hypot(dx, dy, dz);
    if (Math.abs(facing) > GRAZING) continue;
    const [x, y] = project([edge[i], edge[i + 1], edge[i + 2]]);
    context.globalAlpha = 0.8 * (1 - Math.abs(facing) / GRAZING);
    context.fillRect(x - 1, y - 1, 2, 2);
  }
  context.globalAlpha = 1;
}
