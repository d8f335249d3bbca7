// Rotations as scenes write them: degrees about the fixed x, then y, then z axis.

const RADIAN = Math.PI / 180;

function about(axis, degrees) {
  const c = Math.cos(degrees * RADIAN), s = Math.sin(degrees * RADIAN);
  const [i, j] = [(axis + 1) % 3, (axis + 2) % 3];
  const matrix = [[0, 0, 0], [0, 0, 0], [0, 0, 0]];
  matrix[axis][axis] = 1;
  matrix[i][i] = matrix[j][j] = c;
  matrix[i][j] = -s;
  matrix[j][i] = s;
  return matrix;
}

const times = (a, b) => a.map((row) => b[0].map((_, k) => row.reduce((sum, value, j) => sum + value * b[j][k], 0)));
const round = (degrees) => Math.round(degrees * 10) / 10 + 0;

/** `rotation` (a number, or three) followed by a turn about a fixed axis, as the scene writes it. */
export function turned(rotation, axis, degrees, dim) {
  if (dim === 2) {
    const angle = round((((rotation + degrees) % 360) + 360) % 360);
    return angle > 180 ? round(angle - 360) : angle;
  }
  const [x, y, z] = Array.isArray(rotation) ? rotation : [0, 0, rotation];
  const m = times(about(axis, degrees), times(about(2, z), times(about(1, y), about(0, x))));
  const tilt = Math.asin(Math.max(-1, Math.min(1, -m[2][0])));
  const upright = Math.abs(m[2][0]) > 1 - 1e-9;
  const first = upright ? 0 : Math.atan2(m[2][1], m[2][2]);
  const last = upright ? Math.atan2(-m[0][1], m[1][1]) : Math.atan2(m[1][0], m[0][0]);
  return [first, tilt, last].map((angle) => round(angle / RADIAN));
}
