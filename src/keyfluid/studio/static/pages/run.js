// A run: its film, what became of it in words and numbers, its course, and what to do next.
import { address, get, post } from "../api.js";
import { keys } from "../keys.js";
import { Chart } from "../parts/chart.js";
import { about, allNumbers, facts, statusOf } from "../parts/run_facts.js";
import { Viewer } from "../parts/viewer.js";
import { html, nothing, render } from "../vendor/lit-html/lit-html.js";

const FILES = { "report.html": "Report", "video.mp4": "MP4", "video.webp": "WebP", "video.gif": "GIF", "strip.png": "Filmstrip" };

export class Page {
  #charts = [];

  constructor(root, app) { Object.assign(this, { root, app }); }

  get title() { return this.path ?? "Run"; }

  async show({ path, frame }) {
    this.path = path;
    this.app.drawBar();
    this.root.replaceChildren();
    const layout = document.createElement("div");
    layout.className = "run-page";
    this.panel = document.createElement("aside");
    this.panel.className = "run-side";
    this.root.append(layout);
    this.viewer = new Viewer(layout, this.app);
    layout.append(this.panel);
    render(html`<p class="quiet">Opening ${path} …</p>`, this.panel);
    this.viewer.addEventListener("info", () => this.#update());
    try {
      await this.viewer.load(path, frame === undefined ? undefined : Number(frame));
    } catch (error) {
      if (error.kind === "wedge") return this.app.go("wedge", { path });
      render(html`<p class="bad">${error.message}</p><a href="#/home">Home</a>`, this.panel);
      throw error;
    }
    this.viewer.addKeys(keys);
    this.#update();
    return undefined;
  }

  #update() {
    const info = this.viewer.info;
    const { line } = info;
    const resumable = ["stopped", "interrupted"].includes(line.status);
    render(html`
      <header><h1>${line.name}</h1><p class="quiet">${about(info)} · ${statusOf(line)}</p></header>
      <div class="row">
        ${resumable ? html`<button class="main" data-do="resume" @click=${() => this.#resume()}>Resume</button>` : nothing}
        <button data-do="fix" ?disabled=${line.status !== "finished"} title="Paint on a frame or move it, and solve again"
          @click=${() => this.app.go("fix", { run: this.path, frame: this.viewer.frame })}>Edit a frame</button>
        <button data-do="compare" @click=${() => this.#compare()}>Compare</button>
        ${line.scene ? html`<button data-do="scene" @click=${() => this.app.go("editor", { path: line.scene })}>Scene</button>` : nothing}
        <button data-do="delete" ?disabled=${line.status === "running"} @click=${() => this.#delete()}>Delete</button>
      </div>
      ${facts(info, (frame) => { this.viewer.frame = frame; })}
      <section id="charts"></section>
      ${allNumbers(info)}
      ${info.files.length ? html`<p class="row">${info.files.map((name) => html`<a target="_blank" rel="noopener"
        href=${address("run/file", { path: this.path, name })}>${FILES[name]}</a>`)}</p>` : nothing}`,
    this.panel);
    this.#drawCharts(info);
  }

  #drawCharts(info) {
    const state = JSON.stringify([info.revision, info.charts.length]);
    if (state === this.charted) return;
    this.charted = state;
    for (const chart of this.#charts.splice(0)) chart.leave();
    const host = this.panel.querySelector("#charts");
    for (const chart of info.charts.slice(0, 6)) this.#charts.push(new Chart(host, chart));
  }

  async #resume() {
    const job = await this.app.try(post("jobs", { kind: "resume", run: this.path }));
    if (job) this.app.say("Resumed; new frames appear as they come.");
    await this.viewer.refresh();
  }

  async #delete() {
    const dialog = document.createElement("dialog");
    render(html`<form method="dialog" class="row"><p>Move ${this.path} to the trash folder?</p>
      <button class="main" value="yes" data-do="confirm">Delete</button><button value="no">Cancel</button></form>`, dialog);
    document.body.append(dialog);
    dialog.addEventListener("close", async () => {
      dialog.remove();
      if (dialog.returnValue === "yes" && await this.app.try(post("item/delete", { path: this.path }))) this.app.go("home");
    });
    dialog.showModal();
  }

  async #compare() {
    const found = await this.app.try(get("runs"));
    if (!found) return;
    const others = found.runs.filter((line) => line.kind === "run" && line.path !== this.path);
    const dialog = document.createElement("dialog");
    const go = (b) => { dialog.close(); this.app.go("compare", { a: this.path, b }); };
    render(html`<h2>Compare with</h2><div class="choices">${others.map((line) => html`<button data-id=${line.path}
      @click=${() => go(line.path)}>${line.path} <small>${line.method} · ${line.cells.join(" × ")}</small></button>`)}
      ${others.length ? nothing : html`<p class="quiet">There is no other run yet.</p>`}</div>
      <button @click=${() => dialog.close()}>Cancel</button>`, dialog);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  leave() {
    for (const chart of this.#charts.splice(0)) chart.leave();
    this.viewer?.leave();
  }
}
