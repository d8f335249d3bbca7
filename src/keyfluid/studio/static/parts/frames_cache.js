// Frames of one run, asked for once: kept up to a number of bytes, the least recently used go first, and the frames
// that come next are fetched ahead.
import { arrays } from "../api.js";

const MOST_BYTES = 160 << 20;
const AT_ONCE = 3;

export class FramesCache {
  #kept = new Map();
  #bytes = 0;
  #ahead = [];
  #under_way = 0;
  #end = new AbortController();

  /** `revision` of a finished run lets the browser keep frames too; fine: densities in 65536 levels, for 2D. */
  constructor(path, revision, fine, most = MOST_BYTES) {
    Object.assign(this, { path, revision, most, fine: fine ? 1 : undefined });
  }

  #key(what, frame, size) { return `${what} ${frame} ${size ?? 0}`; }

  /** {header, arrays} of a frame; the same promise for all who ask. */
  get(what, frame, size = undefined) {
    const key = this.#key(what, frame, size);
    const found = this.#kept.get(key);
    if (found) {
      this.#kept.delete(key);
      this.#kept.set(key, found);
      return found.promise;
    }
    const entry = { bytes: 0, value: null };
    entry.promise = arrays("frame", { path: this.path, what, frame, size, fine: this.fine, revision: this.revision }, this.#end.signal).then(
      (value) => {
        entry.value = value;
        entry.bytes = Object.values(value.arrays)[0]?.buffer.byteLength ?? 0;
        this.#bytes += entry.bytes;
        this.#shrink();
        return value;
      },
      (error) => { this.#kept.delete(key); throw error; },
    );
    this.#kept.set(key, entry);
    return entry.promise;
  }

  /** What is there already, or null. */
  peek(what, frame, size = undefined) { return this.#kept.get(this.#key(what, frame, size))?.value ?? null; }

  /** Fetch these frames while nothing else is asked for; replaces what was to be fetched before. */
  ahead(what, frames, size = undefined) {
    this.#ahead = frames.filter((frame) => !this.#kept.has(this.#key(what, frame, size))).map((frame) => [what, frame, size]);
    this.#pump();
  }

  async #pump() {
    while (this.#under_way < AT_ONCE && this.#ahead.length && !this.#end.signal.aborted) {
      const [what, frame, size] = this.#ahead.shift();
      this.#under_way += 1;
      this.get(what, frame, size).catch(() => {}).then(() => { this.#under_way -= 1; this.#pump(); });
    }
  }

  #shrink() {
    for (const [key, entry] of this.#kept) {
      if (this.#bytes <= this.most) return;
      if (!entry.value) continue;
      this.#bytes -= entry.bytes;
      this.#kept.delete(key);
    }
  }

  /** Forget frames of a run that is written anew. */
  clear() { this.#kept.clear(); this.#bytes = 0; this.#ahead = []; }

  leave() { this.#end.abort(); this.clear(); }
}
