// Key paths of a scene: "keyframe[0].center", and the bodies and lists that a scene has.

const LISTS = [
  "smoke.initial", "liquid.initial", "smoke.field", "source", "obstacle", "keyframe", "wind", "picture", "flow",
];

/** "keyframe[0].center" as ["keyframe", 0, "center"]. */
export const steps = (path) => path.split(/[.[\]]+/).filter((word) => word !== "")
  .map((word) => (/^\d+$/.test(word) ? Number(word) : word));

/** The value at a path; index 0 of a single table is the table. Undefined where there is none. */
export function valueAt(data, path) {
  let node = data;
  for (const step of steps(path)) {
    if (node === null || typeof node !== "object") return undefined;
    if (typeof step === "number" && !Array.isArray(node)) {
      if (step !== 0) return undefined;
      continue;
    }
    node = node[step];
  }
  return node;
}

/** Entries of a list of tables, which may be a single table in the file. */
export function listAt(data, path) {
  const found = valueAt(data, path);
  return Array.isArray(found) ? found : found && typeof found === "object" ? [found] : [];
}

/** Everything of a scene that is in a list: [{id, list, index, table}]. */
export function entriesOf(data) {
  return LISTS.flatMap((list) => listAt(data, list)
    .filter((table) => table && typeof table === "object")
    .map((table, index) => ({ id: `${list}[${index}]`, list, index, table })));
}

/** Whether two paths mean the same key: a single start is "smoke.initial" in faults and "smoke.initial[0]" here. */
export const within = (path, table) => {
  const plain = (text) => text.replace(/initial\[0\]/, "initial").replace(/^wind\[0\]/, "wind");
  const [inner, outer] = [plain(path), plain(table)];
  return inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
};

/** The list that a fluid's starts are in. */
export const startsOf = (data) => (data?.liquid ? "liquid.initial" : "smoke.initial");

export const dimension = (data) => (data?.domain?.size?.length === 3 ? 3 : 2);
export const framesOf = (data) => (Number.isInteger(data?.time?.frames) && data.time.frames > 0 ? data.time.frames : 40);
export const fpsOf = (data) => (data?.time?.fps > 0 ? data.time.fps : 24);

const KINDS = ["shape", "text", "image", "mesh", "vdb", "npy", "run"];

/** What a body is made of. */
export const kindOf = (table) => KINDS.find((kind) => table?.[kind] !== undefined) ?? null;

/** A body in a few words. */
export function shortWords(table) {
  const kind = kindOf(table);
  if (!kind) return "";
  const value = String(table[kind]).replaceAll("\n", " ");
  const words = kind === "text" ? `“${value}”` : kind === "shape" ? value : value.split("/").at(-1);
  return words.length > 24 ? `${words.slice(0, 23)}…` : words;
}
