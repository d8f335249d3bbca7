// From the arrays of a frame to what the 2D and 3D views draw, with the target over it as the mode says.
import { linear, named } from "./colours.js";

const colours = (info) => Object.fromEntries(info.fields.map(({ name, colour }) => [name, linear(colour)]));

/** The frame of the keyframe that a frame leads to, or the last one; null if there are none. */
export function targetFrame(info, frame) {
  const frames = [...new Set(info.keyframes.map((key) => key.frame))].sort((a, b) => a - b);
  return frames.find((one) => one >= frame) ?? frames.at(-1) ?? null;
}

/** Fields with their colours, without those that are not fields (masks, a distance). */
function fieldsOf(info, arrays) {
  const own = colours(info);
  return info.fields.filter(({ name }) => arrays[name]).map(({ name }) => ({ values: arrays[name], colour: own[name] }));
}

/** For View2d.draw. got: {density, surface?, target?, obstacle?}. */
export function content2d(info, got, mode) {
  const [nx, ny] = info.cells;
  const colour = linear(info.fields[0].colour);
  const fluid = { fields: fieldsOf(info, got.density.arrays), full: got.density.header.full, distance: got.surface?.arrays.distance, colour };
  const wanted = got.target?.arrays;
  const masks = wanted ? info.fields.map(({ name }) => wanted[`${name}/mask`]).filter(Boolean) : [];
  const target = wanted && { fields: fieldsOf(info, wanted), full: got.target.header.full, distance: wanted.distance, colour, mask: masks[0] };
  return { nx, ny, fluid, target: target?.fields.length ? target : null, solid: got.obstacle?.arrays.distance ?? null, mode };
}

/** For Volume.show. blend: share of the target; key: names the frame and its detail. */
export function content3d(info, got, mode, blend, key) {
  const block = got.density.header.block;
  const smoke = fieldsOf(info, got.density.arrays);
  const target = got.target ? fieldsOf(info, got.target.arrays) : [];
  const over = target.length ? mode : "film";
  const shown = {
    cells: info.cells.map((count) => Math.ceil(count / block)), whole: info.cells, size: info.size, spacing: info.spacing,
    view: info.view, floor: info.view.floor, solid: got.obstacle?.arrays.distance ?? null, fields: smoke,
    key: `${key} ${over}`,
  };
  if (over === "blend") {
    const tinted = target.map(({ values }) => ({ values, colour: named("--keyframe"), share: blend }));
    shown.fields = [...smoke.map((field) => ({ ...field, share: 1 - blend })), ...tinted];
    shown.key += ` ${blend}`;
  } else if (over === "difference") shown.fields = differences(smoke, target);
  else if (over === "wipe") shown.target = { fields: target, key: `${key} target` };
  const plain = over === "film" || over === "outline";
  if (got.markers && plain) shown.markers = markersOf(info, got.markers);
  if (got.surface && plain) {
    const { vertices, faces } = got.surface.arrays;
    shown.mesh = { vertices, faces, colour: linear(info.fields[0].colour) };
  }
  return shown;
}

function markersOf(info, { header, arrays }) {
  const own = colours(info);
  const radius = 0.14 * info.spacing * Math.cbrt(header.stride);
  return { places: arrays.markers, groups: Object.entries(header.counts).map(([name, count]) => ({ count, colour: own[name], radius })) };
}

const total = (fields) => (fields.length === 1 ? fields[0].values
  : fields[0].values.map((_, i) => Math.min(255, fields.reduce((sum, field) => sum + field.values[i], 0))));

/** What both have, what is missing, what is too much. */
function differences(smoke, target) {
  const [have, want] = [total(smoke), total(target)];
  return [
    { values: have.map((value, i) => 0.5 * Math.min(value, want[i])), colour: named("--edge") },
    { values: want.map((value, i) => Math.max(value - have[i], 0)), colour: named("--keyframe") },
    { values: have.map((value, i) => Math.max(value - want[i], 0)), colour: named("--bad") },
  ];
}
