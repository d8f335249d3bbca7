// The queue, in the top bar: how many jobs there are and how far the first is; all of them in a list below.
import { post } from "../api.js";
import { html, nothing, render } from "../vendor/lit-html/lit-html.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { ACTIVE, jobs } from "./job_feed.js";
import { duration, kindWords, nameOf, progressWords, share, stateWords } from "./job_words.js";

/** `host`: #jobs-bar, which stays. */
export class JobsBar {
  #open = false;
  #due = 0;

  constructor(host, app) {
    Object.assign(this, { element: host, app });
    this.changed = () => { this.#due ||= requestAnimationFrame(() => { this.#due = 0; this.update(); }); };
    jobs.addEventListener("change", this.changed);
    addEventListener("pointerdown", (event) => { if (this.#open && !host.contains(event.target)) this.#show(false); });
    host.addEventListener("keydown", (event) => { if (event.key === "Escape") this.#show(false); });
    app.try(async () => jobs.start());
    this.update();
  }

  update() {
    const all = jobs.all;
    const active = all.filter((job) => ACTIVE.includes(job.state));
    const waiting = all.filter((job) => job.state === "queued").length;
    render(all.length === 0 ? nothing : html`
      <button data-do="jobs" aria-expanded=${String(this.#open)} aria-controls="jobs-list" title="Runs that are computed or wait"
        @click=${() => this.#show(!this.#open)}>${this.#words(active, waiting)}</button>
      <div id="jobs-list" class="panel" ?hidden=${!this.#open}>
        ${repeat(all.toReversed(), (job) => job.id, (job) => this.#line(job))}</div>`, this.element);
  }

  #words(active, waiting) {
    if (active.length === 0) return waiting ? `${waiting} waiting` : "No runs computing";
    const part = share(active[0]);
    const more = waiting + active.length - 1;
    return html`<progress max="1" .value=${part ?? 0}></progress>
      ${nameOf(active[0].run)}${part === null ? "" : ` ${Math.floor(100 * part)} %`}${more ? ` and ${more} more` : ""}`;
  }

  #line(job) {
    const active = ACTIVE.includes(job.state);
    const left = active && job.last?.seconds_left;
    const page = job.kind === "wedge" ? "wedge" : "run";
    return html`<div class="job-line" data-id=${job.id}>
      <a href=${`#/${page}?${new URLSearchParams({ path: job.run })}`} @click=${() => this.#show(false)}>${nameOf(job.run)}</a>
      <small>${kindWords(job)}, ${stateWords(job)}${active && job.last ? `: ${progressWords(job)}` : ""}${left ? `, ${duration(left)} left` : ""}</small>
      <span class="row">
        ${active || job.state === "queued" ? html`<button data-do="stop" @click=${() => this.#ask("stop", job)}>${
          job.state === "stopping" ? "Stop at once" : job.state === "queued" ? "Cancel" : "Stop"}</button>` : nothing}
        ${active ? nothing : html`<button class="plain" data-do="remove" title="Remove from this list; the run stays"
          aria-label="Remove from this list" @click=${() => this.#ask("remove", job)}>✕</button>`}</span>
      ${job.message ? html`<small class="bad job-message">${job.message}</small>` : nothing}</div>`;
  }

  #ask(what, job) { return this.app.try(post(`jobs/${what}`, { id: job.id })); }

  #show(open) {
    this.#open = open;
    this.update();
  }
}
