// The programs of the 3D view: rays through smoke and obstacles, markers as points, a liquid's surface as a mesh.

export const QUAD = `#version 300 es
out vec2 at;
void main() {
  at = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
  gl_Position = vec4(at, 0.0, 1.0);
}`;

const COMMON = `#version 300 es
precision highp float;
precision highp sampler3D;
uniform vec3 size, keyColour, skyColour, towards, up;
uniform sampler3D volume;
vec3 shoulder(vec3 light) {
  return mix(light, 1.0 - 0.09 / (max(light, 0.7) - 0.4), greaterThan(light, vec3(0.7)));
}
vec3 encoded(vec3 light) {
  light = clamp(light, 0.0, 1.0);
  return mix(12.92 * light, 1.055 * pow(light, vec3(1.0 / 2.4)) - 0.055, greaterThan(light, vec3(0.0031308)));
}
`;

/** volume: density, key light, sky and obstacles in red, green, blue and alpha; albedo: its root, where colours differ. */
export const MARCH = `${COMMON}
uniform sampler3D albedo;
uniform sampler2D floorLight;
uniform vec3 eye, right, top, forward, lower, upper, colour, wallTop, wallBottom, solidColour;
uniform vec2 slope;
uniform float pixel, extinction, stride, phase, solids, coloured, standing, cell;
uniform mat4 matrix;
in vec2 at;
out vec4 picture;

float noise(vec2 p) { return fract(52.9829189 * fract(dot(p, vec2(0.06711056, 0.00583715)))); }

vec3 solidLight(vec3 p, vec3 ray) {
  float h = cell;
  vec3 n = vec3(0.0);
  for (int axis = 0; axis < 3; axis++) {
    vec3 e = vec3(axis == 0, axis == 1, axis == 2) * h;
    n[axis] = textureLod(volume, (p - e) / size, 0.0).a - textureLod(volume, (p + e) / size, 0.0).a;
  }
  n = length(n) > 1e-5 ? normalize(n) : -ray;
  vec4 outside = textureLod(volume, (p + 1.5 * h * n) / size, 0.0);
  return solidColour * (keyColour * outside.g * max(dot(n, towards), 0.0) + skyColour * outside.b * (0.6 + 0.4 * dot(n, up)) * 1.6);
}

void main() {
  vec3 ray = normalize(forward + at.x * slope.x * right + at.y * slope.y * top);
  float height = 0.5 - 0.5 * at.y;
  vec3 behind = mix(wallTop, wallBottom, height * height * (3.0 - 2.0 * height));
  float down = -dot(ray, up);
  if (standing > 0.5 && down > 1e-4 && dot(eye, up) > 0.0) {
    vec3 p = eye + ray * (dot(eye, up) / down);
    vec3 flat_ = p - size * 0.5;
    flat_ -= up * dot(flat_, up);
    float wide = up.y > 0.5 ? max(size.x, size.z) : max(size.x, size.y);
    vec2 where = up.y > 0.5 ? (p.xz + size.xz) / (3.0 * size.xz) : (p.xy + size.xy) / (3.0 * size.xy);
    bool known = all(greaterThan(where, vec2(0.0))) && all(lessThan(where, vec2(1.0)));
    float lit = known ? textureLod(floorLight, where, 0.0).r : 1.0;
    float far = length(flat_) / wide / 0.95;
    behind += 3.0 * wallBottom * exp(-far * far) * (0.15 + 0.85 * lit);
  }
  vec3 first = (lower - eye) / ray, second = (upper - eye) / ray;
  vec3 low = min(first, second), high = max(first, second);
  float start = max(max(low.x, max(low.y, low.z)), 0.0), stop = min(high.x, min(high.y, high.z));
  vec3 light = vec3(0.0);
  float left = 1.0;
  gl_FragDepth = 1.0;
  if (stop > start) {
    float t = start + stride * noise(gl_FragCoord.xy);
    float before = start, nearest = start, closest = 0.0;
    for (int step = 0; step < 1024 && t < stop && left > 0.01; step++) {
      vec3 p = eye + t * ray;
      vec4 here = textureLod(volume, p / size, 0.0);
      if (solids > 0.5 && here.a > 0.5) {
        float a = before, b = t;
        for (int half_ = 0; half_ < 5; half_++) {
          float middle = 0.5 * (a + b);
          if (textureLod(volume, (eye + middle * ray) / size, 0.0).a > 0.5) b = middle; else a = middle;
        }
        p = eye + b * ray;
        light += left * solidLight(p, ray);
        left = 0.0;
        vec4 clip = matrix * vec4(p, 1.0);
        gl_FragDepth = 0.5 + 0.5 * clip.z / clip.w;
        break;
      }
      if (here.a > closest) { closest = here.a; nearest = t; }
      float amount = here.r * extinction;
      if (amount > 1e-3) {
        float taken = left * (1.0 - exp(-amount * stride));
        vec3 own = colour;
        if (coloured > 0.5) { own = textureLod(albedo, p / size, 0.0).rgb; own *= own; }
        light += taken * own * (keyColour * phase * here.g + skyColour * here.b);
        left *= exp(-amount * stride);
      }
      before = t;
      t += stride;
    }
    // A ray that passes an obstacle by less than a pixel sees a part of it: edges without steps.
    if (solids > 0.5 && closest > 0.3 && left > 0.01) {
      // Between samples by a parabola, or the edge shows how the ray was sampled.
      float a = textureLod(volume, (eye + (nearest - 0.5 * stride) * ray) / size, 0.0).a;
      float b = textureLod(volume, (eye + (nearest + 0.5 * stride) * ray) / size, 0.0).a;
      float bend = a + b - 2.0 * closest;
      float off = bend < -1e-4 ? clamp(0.5 * (a - b) / bend, -1.0, 1.0) : 0.0;
      closest -= 0.25 * (a - b) * off;
      nearest += 0.5 * stride * off;
    }
    float miss = (0.5 - closest) * 8.0 * cell / (nearest * pixel);
    if (solids > 0.5 && left > 0.01 && miss < 1.0) {
      float share = left * (1.0 - max(miss, 0.0));
      light += share * solidLight(eye + nearest * ray, ray);
      left -= share;
    }
  }
  float dither = (noise(gl_FragCoord.xy + 17.0) - 0.5) / 255.0;
  picture = vec4(encoded(shoulder(light) + left * behind) + dither, 1.0);
}`;

/** Markers: lit by the volume's light where they are. */
export const POINTS = `${COMMON}
uniform mat4 matrix;
uniform float radius;
uniform vec3 tint;
layout(location = 0) in vec3 place;
out vec3 light;
void main() {
  gl_Position = matrix * vec4(place, 1.0);
  gl_PointSize = clamp(radius / gl_Position.w, 1.0, 24.0);
  vec4 here = textureLod(volume, place / size, 0.0);
  light = encoded(shoulder(tint * (keyColour * here.g + skyColour * sqrt(here.b))));
}`;

export const POINT_COLOUR = `#version 300 es
precision mediump float;
in vec3 light;
out vec4 picture;
void main() {
  vec2 off = 2.0 * gl_PointCoord - 1.0;
  if (dot(off, off) > 1.0) discard;
  picture = vec4(light, 1.0);
}`;

/** A liquid's surface: key light with the volume's shadow, sky, a gloss, a lighter rim. */
export const MESH = `#version 300 es
precision highp float;
uniform mat4 matrix;
layout(location = 0) in vec3 place;
layout(location = 1) in vec3 normal;
out vec3 p, n;
void main() {
  p = place;
  n = normal;
  gl_Position = matrix * vec4(place, 1.0);
}`;

export const MESH_COLOUR = `${COMMON}
uniform vec3 eye, tint;
uniform float cell;
in vec3 p, n;
out vec4 picture;
void main() {
  vec3 view = normalize(eye - p);
  vec3 face = normalize(n);
  if (dot(face, view) < 0.0) face = -face;
  vec4 outside = textureLod(volume, (p + 2.0 * cell * face) / size, 0.0);
  float lit = max(dot(face, towards), 0.0) * outside.g;
  float gloss = pow(max(dot(face, normalize(towards + view)), 0.0), 50.0) * outside.g;
  float rim = pow(1.0 - max(dot(face, view), 0.0), 4.0);
  vec3 light = tint * (0.75 * keyColour * lit + skyColour * (1.1 + 0.6 * dot(face, up))) + 0.35 * gloss * keyColour;
  picture = vec4(encoded(shoulder(light + 0.5 * rim * skyColour)), 1.0);
}`;
