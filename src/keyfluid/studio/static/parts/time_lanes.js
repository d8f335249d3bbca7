// What the timeline shows of a scene: lanes of markers and bars, and what a drag changes.
import { entriesOf, framesOf, shortWords } from "./scene_paths.js";

const ROLES = { keyframe: "keyframe", picture: "keyframe", flow: "keyframe", source: "source", wind: "source", obstacle: "obstacle" };
const TITLES = { keyframe: "Keyframes", picture: "Pictures", flow: "Velocities", source: "Source", wind: "Wind", obstacle: "Obstacle" };
const whole = (value, other) => (Number.isInteger(value) ? value : other);

/** Lanes: [{name, items: [{id, role, start, end?, held?, marker, ends: [{key, frame, words}], words}]}]. */
export function lanesOf(data, drag = null) {
  const lanes = new Map([["Keyframes", []]]);
  const put = (name, item) => lanes.set(name, [...(lanes.get(name) ?? []), item]);
  for (const { id, list, index, table } of entriesOf(data)) {
    const now = drag?.id === id ? { ...table, ...dragged(data, id, drag.key, drag.by).values } : table;
    if (["keyframe", "picture", "flow"].includes(list)) {
      const field = list === "keyframe" && table.field ? `Keyframes: ${table.field}` : TITLES[list];
      put(field, marker(id, ROLES[list], now, index));
    } else if (list === "source" || list === "wind") {
      put(`${TITLES[list]} ${index + 1}`, span(id, now, framesOf(data), `${TITLES[list]} ${index + 1}`));
    } else if (list === "obstacle" && Array.isArray(table.path)) {
      for (const [place, point] of table.path.entries()) {
        if (Number.isFinite(point?.frame)) put(`Obstacle ${index + 1}`, waypoint(`${id}.path[${place}]`, point, drag, data));
      }
    }
  }
  return [...lanes].map(([name, items]) => ({ name, items })).filter(({ items }) => items.length || lanes.size === 1);
}

function marker(id, role, table, index) {
  const start = whole(table.frame, 0);
  const end = Number.isInteger(table.until) && table.until > start ? table.until : undefined;
  const held = table.hold > 0 ? (end ?? start) + table.hold : undefined;
  const ends = [];
  if (end !== undefined) ends.push({ key: "until", frame: end, words: `Last frame, ${end}` });
  if (role === "keyframe" && id.startsWith("keyframe")) {
    ends.push({ key: "hold", frame: held ?? end ?? start, words: held ? `Held until frame ${held}` : "Drag to hold it" });
  }
  const words = [`Keyframe ${index + 1} at frame ${start}`, shortWords(table)].filter(Boolean).join(": ");
  return { id, role, start, end, held, marker: true, ends, words };
}

function span(id, table, frames, title) {
  const [start, stop] = [whole(table.start, 0), whole(table.stop, frames)];
  const ends = [{ key: "start", frame: start, words: `${title} begins at frame ${start}` },
    { key: "stop", frame: stop, words: `${title} ends at frame ${stop}` }];
  return { id, role: "source", start, end: stop, marker: false, ends, words: `${title}, frames ${start} to ${stop}` };
}

function waypoint(id, point, drag, data) {
  const start = drag?.id === id ? dragged(data, id, "all", drag.by).values.frame : point.frame;
  return { id, role: "obstacle", start, marker: true, ends: [], words: `Way point at frame ${start}` };
}

/** What moving an item, or one end of it, by some frames makes of it: {values, changes}. */
export function dragged(data, id, key, by) {
  const frames = framesOf(data);
  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  const point = id.match(/^(obstacle\[\d+\])\.path\[(\d+)\]$/);
  const entry = entriesOf(data).find((one) => one.id === (point ? point[1] : id));
  const table = point ? entry?.table.path?.[Number(point[2])] : entry?.table;
  if (!table) return { values: {}, changes: [] };
  const values = {};
  if (point) values.frame = clamp(table.frame + by, 0, frames);
  else if (table.frame !== undefined) moveKey(values, table, key, by, frames, clamp);
  else {
    const [start, stop] = [whole(table.start, 0), whole(table.stop, frames)];
    const shift = clamp(by, -start, frames - stop);
    if (key === "start") values.start = clamp(start + by, 0, stop - 1);
    else if (key === "stop") values.stop = clamp(stop + by, start + 1, frames);
    else Object.assign(values, { start: start + shift, stop: stop + shift });
  }
  const changes = Object.entries(values).filter(([name, value]) => value !== table[name])
    .map(([name, value]) => ({ path: `${id}.${name}`, value }));
  return { values, changes };
}

function moveKey(values, table, key, by, frames, clamp) {
  const last = table.until ?? table.frame;
  if (key === "until") values.until = clamp(table.until + by, table.frame, frames);
  else if (key === "hold") values.hold = clamp((table.hold ?? 0) + by, 0, frames - last);
  else {
    const shift = clamp(by, 1 - table.frame, frames - last);
    values.frame = table.frame + shift;
    if (table.until !== undefined) values.until = table.until + shift;
  }
}
