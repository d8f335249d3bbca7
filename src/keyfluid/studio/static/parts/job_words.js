// Jobs in words.
const STATES = {
  queued: "waiting", running: "running", stopping: "stopping after this step", finished: "finished", stopped: "stopped",
  failed: "failed", lost: "lost",
};
const UNITS = {
  vdb: "writing VDB", ply: "writing points", mesh: "writing meshes", picture: "drawing", png: "writing PNG",
  video: "encoding the film", report: "writing the report",
};
const KINDS = { run: "Run", preview: "Preview", resume: "Resumed run", wedge: "Wedge" };

/** 40 s, 3 min, 1.5 h. */
export function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** 49 kB, 120 MB, 1.5 GB. */
export function size(megabytes) {
  if (megabytes < 1) return `${Math.ceil(1000 * megabytes)} kB`;
  return megabytes < 1000 ? `${Number(megabytes.toPrecision(2))} MB` : `${(megabytes / 1000).toFixed(1)} GB`;
}

export const stateWords = (job) => STATES[job.state] ?? job.state;
export const kindWords = (job) => KINDS[job.kind] ?? job.kind;
export const nameOf = (path) => path.split("/").at(-1);

/** "frame 12 of 40", "drawing 3 of 40"; with the variant of a wedge. */
export function progressWords(job) {
  const { last, variant } = job;
  const run = variant ? `${variant.label} (${variant.done + 1} of ${variant.total})` : "";
  const step = last ? `${UNITS[last.unit] ?? last.unit} ${last.done} of ${last.total}` : "";
  return [run, step].filter(Boolean).join(", ");
}

/** How much of the current phase is done, 0 to 1; null before it is known. */
export function share(job) {
  if (!job.last?.total) return null;
  const inner = job.last.done / job.last.total;
  return job.variant ? (job.variant.done + inner) / job.variant.total : inner;
}

const KEY = /\b((?:domain|time|smoke|liquid|source|obstacle|wind|flow|picture|keyframe|edit|control|camera|light|output)(?:\[\d+\])?(?:\.[a-z_]+(?:\[\d+\])?)+)/;

/** A line in pieces: at odd places key paths of the scene, such as "control.gamma". */
export const withKeys = (text) => text.split(KEY);

/** "keyframe[1]" as "Keyframe 2, frame 40". */
export function keyWords(path, plan) {
  const number = /\[(\d+)\]$/.exec(path);
  const frame = plan?.keyframes?.[path];
  const name = number ? `Keyframe ${Number(number[1]) + 1}` : path;
  return frame === undefined ? name : `${name}, frame ${frame}`;
}
