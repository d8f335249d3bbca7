// Colours of pictures, as render/colour.py and render/backdrop.py have them: mixed in linear light, shown as sRGB.

const decode = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);

/** [r, g, b] in linear light of "#rrggbb". */
export function linear(hex) {
  const number = parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255].map((part) => decode(part / 255));
}

/** A colour of style.css, in linear light. */
export const named = (name) => linear(getComputedStyle(document.documentElement).getPropertyValue(name).trim());

const STEPS = 16384;
const LEVELS = Float32Array.from({ length: STEPS + 1 }, (_, place) => {
  const light = place / STEPS;
  return 255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055);
});

/** The level from 0 to 255, not rounded, of linear light. */
export const level = (light) => LEVELS[light >= 1 ? STEPS : light > 0 ? light * STEPS | 0 : 0];

/** Thresholds of an ordered dither, 8 x 8, which keeps dark gradients free of steps and still pixels still. */
export const BAYER = Float32Array.from({ length: 64 }, (_, i) => {
  let [x, y, found] = [i & 7, i >> 3, 0];
  for (let bit = 0; bit < 3; bit++, x >>= 1, y >>= 1) found = 4 * found + (2 * (x & 1 ^ y & 1) | y & 1);
  return (found + 0.5) / 64;
});

/** The wall behind the smoke: its colours at the top and the bottom, linear light. */
export const BACKDROP = { top: linear("#0b1018"), bottom: linear("#212a37") };

/** Its colour at a height from 0 (top) to 1. */
export function backdrop(height) {
  const blend = height * height * (3 - 2 * height);
  return BACKDROP.top.map((part, place) => part + blend * (BACKDROP.bottom[place] - part));
}

export const SOLID = linear("#b0a89d");
