// The jobs as the server knows them, kept up to date by its events; one for all parts of the page.
import { events, get } from "../api.js";

export const ACTIVE = ["running", "stopping"];
const OF_LAST = ["unit", "done", "total", "seconds_left", "error", "errors", "note"];

/** Fires "change" when a job is new or different. `all` is oldest first. */
class JobFeed extends EventTarget {
  #jobs = new Map();
  #touched = new Set();
  #started = false;

  get all() { return [...this.#jobs.values()]; }
  get(id) { return this.#jobs.get(id); }

  /** Begin to follow; any part may ask for it. */
  start() {
    if (this.#started) return;
    this.#started = true;
    events.on("job", ({ job }) => this.#take(job));
    events.on("progress", (event) => this.#progress(event));
    events.on("reset", () => this.load());
    return this.load();
  }

  /** Read all jobs; what an event says meanwhile is newer than the answer. */
  async load() {
    this.#touched.clear();
    const { jobs } = await get("jobs").catch(() => ({ jobs: this.all })); // the next reset asks again
    const known = new Map(jobs.map((job) => [job.id, job]));
    for (const id of this.#touched) {
      if (this.#jobs.has(id)) known.set(id, this.#jobs.get(id));
      else known.delete(id);
    }
    this.#jobs = known;
    this.#fire();
  }

  #take(job) {
    this.#touched.add(job.id);
    if (job.state === "removed") this.#jobs.delete(job.id);
    else this.#jobs.set(job.id, job);
    this.#fire();
  }

  #progress(event) {
    const job = this.#jobs.get(event.id);
    if (!job || event.line < job.lines) return;
    job.lines = event.line + 1;
    if (event.event === "progress" && event.unit === "note") job.notes = [...job.notes, event.note];
    else if (event.event === "progress") job.last = Object.fromEntries(OF_LAST.map((key) => [key, event[key]]));
    else if (event.event === "warning" || event.event === "compiling") job.notes = [...job.notes, event.message];
    else if (["estimate", "plan", "variant", "result"].includes(event.event)) job[event.event] = event;
    this.#fire();
  }

  #fire() { this.dispatchEvent(new Event("change")); }
}

export const jobs = new JobFeed();

/**
 * Everything that one job has printed, without gap or repetition: `take(event)` is called once for each line.
 * `ready` resolves when what was printed before has been taken.
 */
export class JobCourse {
  #next = 0;
  #end;
  #waiting = [];
  #reading = false;

  constructor(id, take) {
    Object.assign(this, { id, take });
    this.#end = events.on("progress", (event) => event.id === id && this.#hear(event));
    this.ready = this.read();
  }

  leave() { this.#end(); }

  /** What was printed before, or while nobody listened. */
  async read() {
    if (this.#reading) return;
    this.#reading = true;
    try {
      for (let more = true; more;) {
        const answer = await get("jobs/progress", { id: this.id, line: this.#next });
        for (const event of answer.events) this.#once(event);
        more = answer.more;
      }
    } catch {
      // The server is gone, or the job: the next event, or the reset after a restart, asks again.
    } finally {
      this.#reading = false;
    }
    for (const event of this.#waiting.splice(0)) this.#once(event);
  }

  #hear(event) {
    if (this.#reading) this.#waiting.push(event);
    else if (event.line > this.#next) this.read();
    else this.#once(event);
  }

  #once(event) {
    if (event.line < this.#next) return;
    this.#next = event.line + 1;
    this.take(event);
  }
}
