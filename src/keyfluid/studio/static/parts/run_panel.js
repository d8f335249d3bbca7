// Running a scene: what it will take, preview, run, wedge, stop, resume; progress, errors, notes, and frames as they come.
import { events, get, post } from "../api.js";
import { html, nothing, render } from "../vendor/lit-html/lit-html.js";
import { ErrorChart } from "./error_chart.js";
import { ACTIVE, JobCourse, jobs } from "./job_feed.js";
import { duration, kindWords, nameOf, progressWords, share, size, stateWords, withKeys } from "./job_words.js";
import { Viewer } from "./viewer.js";
import { askWedge } from "./wedge_dialog.js";

/** Jobs of one scene (`state`: SceneState). Fires "key" with detail {path} when a fault's key is clicked. */
export class RunPanel extends EventTarget {
  #plan = null;
  #planning = "";
  #faults = [];
  #chosen = null;
  #courses = null;
  #chart = null;
  #viewer = null;
  #film = "";
  #due = 0;
  #ends = [];

  constructor(host, state, app) {
    super();
    Object.assign(this, { state, app });
    this.element = document.createElement("div");
    this.element.className = "run-panel";
    this.element.panel = this;
    const place = (name) => this.element.appendChild(Object.assign(document.createElement("div"), { className: name }));
    this.tools = place("tools-of-run");
    this.status = place("status-of-run");
    this.film = place("film");
    this.chartPlace = place("chart-of-run");
    this.notes = place("notes-of-run");
    host.append(this.element);
    const soon = () => { this.#due ||= requestAnimationFrame(() => { this.#due = 0; this.update(); }); };
    jobs.addEventListener("change", soon);
    state.addEventListener?.("change", soon);
    this.#ends = [
      () => jobs.removeEventListener("change", soon), () => state.removeEventListener?.("change", soon),
      events.on("frames", (event) => this.#frames(event.run)),
      events.on("reset", () => this.#courses?.all.at(-1)?.read()),
    ];
    app.try(async () => jobs.start());
    this.update();
  }

  /** The job that is shown: the one chosen, else the scene's last. */
  get job() {
    const mine = this.mine;
    return mine.find((job) => job.id === this.#chosen) ?? mine.findLast((job) => ACTIVE.includes(job.state)) ?? mine.at(-1);
  }

  /** Jobs of this scene, and those that resumed one of its runs. */
  get mine() {
    const runs = new Set(jobs.all.filter((job) => job.scene === this.state.path).map((job) => job.run));
    return jobs.all.filter((job) => runs.has(job.run));
  }

  /** The error's curves, for tests. */
  get errors() { return this.#chart?.values ?? null; }

  leave() {
    cancelAnimationFrame(this.#due);
    for (const end of this.#ends) end();
    this.#forget();
    this.element.remove();
  }

  /** Save the scene and queue it. */
  async start(kind, more = {}) {
    await this.state.save?.();
    this.#faults = [];
    this.#plan = null;
    try {
      const job = await post("jobs", { kind, ...(kind === "resume" ? {} : { scene: this.state.path }), ...more });
      this.#chosen = job.id;
      await jobs.load();
    } catch (error) {
      this.#faults = error.faults ?? [];
      if (!this.#faults.length) this.app.say(error.message, true);
    }
    this.update();
  }

  /** What the run will take: memory and disk first, then the time, which is measured. */
  async plan(preview = 0) {
    await this.state.save?.();
    this.#plan = null;
    for (const time of [0, 1]) {
      this.#planning = time ? "measuring the time…" : "looking at the scene…";
      this.update();
      const plan = await this.app.try(get("plan", { path: this.state.path, preview, time }));
      if (!plan) break;
      this.#faults = plan.faults;
      this.#plan = plan.faults.length ? null : { ...plan, preview };
      if (plan.faults.length) break;
    }
    this.#planning = "";
    this.update();
  }

  update() {
    const { job } = this;
    this.#follow(job);
    render(this.#toolsOf(), this.tools);
    render(job ? this.#statusOf(job) : html`<p class="quiet">Not run yet. A preview takes half the resolution and shows in
      little time where the smoke goes.</p>`, this.status);
    render(this.#notesOf(job), this.notes);
  }

  #toolsOf() {
    const faulty = this.state.faults?.length > 0;
    const why = faulty ? "The scene has faults; fix them first" : "";
    return html`<div class="row">
        <button class="main" data-do="run" ?disabled=${faulty} title=${why} @click=${() => this.start("run")}>Run</button>
        <button data-do="preview" ?disabled=${faulty} title=${why || "Half the resolution, a draft film"}
          @click=${() => this.start("preview")}>Preview</button>
        <button data-do="plan" ?disabled=${faulty || this.#planning} title=${why || "Memory, disk and time before a run"}
          @click=${() => this.plan()}>Plan</button>
        <button data-do="wedge" ?disabled=${faulty} title=${why || "Several values of a key, compared"}
          @click=${() => this.#wedge()}>Wedge…</button></div>
      ${this.#faults.length ? html`<div role="alert">${this.#faultsOf(this.#faults)}</div>` : nothing}
      ${this.#plan || this.#planning ? this.#planOf(this.#plan) : nothing}`;
  }

  #planOf(plan) {
    return html`<div class="panel" data-id="plan"><h3>Plan</h3>
      ${plan ? html`<dl class="facts">
        <dt>Grid</dt><dd>${plan.cells.join(" × ")} cells, ${plan.frames} frames</dd>
        <dt>Memory</dt><dd>about ${size(plan.memory_mb)}</dd>
        <dt>Disk</dt><dd>about ${size(plan.disk_mb)}</dd>
        <dt>Time</dt><dd data-id="plan-time">${plan.seconds === null ? this.#planning || "not measured" : `about ${duration(plan.seconds)}`}</dd></dl>
        ${plan.lines.map((line) => html`<small>${line}</small><br>`)}
        ${plan.warnings.map((line) => html`<p class="warn">${this.#linked(line)}</p>`)}` : html`<p class="quiet">${this.#planning}</p>`}</div>`;
  }

  #statusOf(job) {
    const active = ACTIVE.includes(job.state);
    const { last } = job;
    const mine = this.mine;
    const colour = job.state === "finished" ? "good" : ["failed", "lost"].includes(job.state) ? "bad" : "";
    return html`<div class="panel" data-id="job" data-state=${job.state}>
      <div class="row">
        ${mine.length > 1 ? html`<select data-id="job-choice" aria-label="Job" @change=${(event) => this.#choose(event.target.value)}>
          ${mine.toReversed().map((one) => html`<option value=${one.id} ?selected=${one.id === job.id}>${kindWords(one)} ${nameOf(one.run)}</option>`)}
          </select>` : html`<span>${kindWords(job)} ${nameOf(job.run)}</span>`}
        <span class="state ${colour} grow" data-id="job-state">${stateWords(job)}</span>
        ${active || job.state === "queued" ? html`<button data-do="stop" title="Saves what there is; it can be resumed"
          @click=${() => this.app.try(post("jobs/stop", { id: job.id }))}>${job.state === "stopping" ? "Stop at once"
            : job.state === "queued" ? "Cancel" : "Stop"}</button>` : nothing}
        ${job.resumable ? html`<button data-do="resume" @click=${() => this.start("resume", { run: job.run })}>Resume</button>` : nothing}
        ${job.state === "finished" || job.resumable ? html`<button data-do="look"
          @click=${() => this.app.go(job.kind === "wedge" ? "wedge" : "run", { path: job.run })}>Look</button>` : nothing}</div>
      ${active ? html`<progress max="1" .value=${share(job) ?? 0} aria-label="Progress"></progress>` : nothing}
      ${active && (last || job.variant) ? html`<div class="row number"><span data-id="job-progress" class="grow">${progressWords(job)}</span>
        ${active && last?.seconds_left ? html`<span>${duration(last.seconds_left)} left</span>` : nothing}</div>` : nothing}
      ${active && !last ? html`<p class="quiet">starting…</p>` : nothing}
      ${active && Number.isFinite(last?.error) ? html`<div class="number">error ${last.error.toPrecision(3)}${last.note ? `, ${last.note}` : ""}</div>` : nothing}
      ${active && job.estimate ? html`<small>estimate: ${size(job.estimate.memory / 1e6)} of memory,
        ${size(job.estimate.disk / 1e6)} on disk, ${duration(job.estimate.seconds)}</small>` : nothing}
      ${active || !job.result ? nothing : html`<div data-id="job-words">${job.result.words?.map((line) => html`<p>${this.#linked(line)}</p>`)}
        <small>${duration(job.result.seconds)} of computing</small></div>`}
      ${job.faults.length ? this.#faultsOf(job.faults) : job.message ? html`<p class="bad" data-id="job-message">${this.#linked(job.message)}</p>` : nothing}
    </div>`;
  }

  #faultsOf(faults) {
    return html`<ul>${faults.map(({ path, message }) => html`<li>${path ? html`<button class="plain fault" data-do="key" data-id=${path}
      @click=${() => this.#reveal(path)}><code>${path}</code>: ${message}</button>`
      : html`<span class="bad">${message}</span>`}</li>`)}</ul>`;
  }

  /** A line whose keys can be clicked. */
  #linked(line) {
    return withKeys(line).map((piece, place) => place % 2 === 0 ? piece : html`<button class="plain key-link" data-do="key"
      data-id=${piece} @click=${() => this.#reveal(piece)}><code>${piece}</code></button>`);
  }

  #reveal(path) { this.dispatchEvent(new CustomEvent("key", { detail: { path } })); }

  #notesOf(job) {
    return job?.notes.length ? html`<h3>Notes</h3><ul data-id="job-notes">${job.notes.map((note) => html`<li>${this.#linked(note)}</li>`)}</ul>` : nothing;
  }

  #choose(id) {
    this.#chosen = id;
    this.update();
  }

  /** Show the course and the film of another job. */
  #follow(job) {
    if (this.#courses?.id === job?.id) return;
    this.#forget();
    if (!job) return;
    this.#chart = new ErrorChart(this.chartPlace);
    this.#listen(job, this.#chart);
    if (job.kind !== "wedge" && (job.state === "finished" || job.resumable || job.last)) this.#frames(job.run);
  }

  /** The course of a job, after those of the jobs that computed its run before. */
  async #listen(job, chart) {
    const take = (event) => chart.take(event);
    this.#courses = { id: job.id, all: [] };
    const { id, all } = this.#courses;
    for (const one of this.mine.filter(({ run, queued }) => run === job.run && queued <= job.queued)) {
      if (this.#courses?.id !== id) return;
      all.push(new JobCourse(one.id, take));
      await all.at(-1).ready;
    }
  }

  /** There are frames of a run: show them if it is this job's. */
  #frames(run) {
    const { job } = this;
    if (!job || (run !== job.run && !run.startsWith(`${job.run}/`)) || this.#film === run) return;
    this.#film = run;
    this.#viewer ??= new Viewer(this.film, this.app);
    this.app.try(this.#viewer.load(run));
  }

  #forget() {
    for (const course of this.#courses?.all ?? []) course.leave();
    this.#chart?.leave();
    this.#viewer?.leave?.();
    this.film.replaceChildren();
    this.#courses = this.#chart = this.#viewer = null;
    this.#film = "";
  }

  async #wedge() {
    const asked = await askWedge(this.state.data);
    if (asked) await this.start("wedge", asked);
  }
}
