// All scenes and runs, and what to begin with.
import { address, events, get, post } from "../api.js";
import { keys } from "../keys.js";
import { askName, askYes } from "../parts/ask.js";
import { repeat } from "../vendor/lit-html/directives/repeat.js";
import { html, nothing, render } from "../vendor/lit-html/lit-html.js";

const FIRST = 48; // cards of a section, until all are asked for
const METHODS = { none: "free", null: "" };

export class Page {
  #home = null;
  #search = "";
  #all = new Set();
  #drawn = new Map();
  #ends = [];

  constructor(root, app) { Object.assign(this, { root, app }); }

  get title() { return ""; }

  async show() {
    this.root.classList.add("home");
    this.#ends = [
      events.on("thumb", (event) => this.#thumb(event)),
      events.on("job", (event) => event.job?.state !== "running" && this.#load()),
      events.on("reset", () => this.#load()),
    ];
    keys.on("n", "New scene", () => this.#new({ template: "blank_2d" }));
    keys.on("/", "Find", () => this.root.querySelector("#home-search")?.focus());
    await this.#load();
  }

  leave() {
    this.root.classList.remove("home");
    for (const end of this.#ends) end();
  }

  async #load() {
    this.#home = (await this.app.try(get("home"))) ?? this.#home;
    this.#draw();
  }

  #draw() {
    if (!this.#home) return;
    const { scenes, runs, gallery, templates } = this.#home;
    const found = (line) => `${line.name} ${line.method ?? ""} ${line.text ?? ""}`.toLowerCase().includes(this.#search.toLowerCase());
    render(html`
      <div class="home-bar row"><h1>${this.app.hello.workspace ?? "Workspace"}</h1><span class="grow"></span>
        <input id="home-search" type="search" placeholder="Find scenes and runs" aria-label="Find scenes and runs"
          @input=${(event) => { this.#search = event.target.value; this.#draw(); }}></div>
      <section aria-label="New scene"><h2>New scene</h2><div class="templates">${templates.map((one) => html`
        <button class="template" data-do="new" data-id=${one.name} @click=${() => this.#new({ template: one.name })}>
          <b>${title(one.name)}</b><small>${one.text}</small></button>`)}</div></section>
      ${this.#section("My scenes", scenes.filter(found), (line) => this.#scene(line),
        "Nothing here yet: begin with one of the above, or duplicate one of the gallery.")}
      ${this.#section("My runs", runs.filter(found), (line) => this.#run(line), "No runs yet: open a scene and press Run.")}
      ${this.#section("Gallery", gallery.filter(found), (line) => this.#bundled(line), "")}`, this.root);
  }

  #section(name, lines, card, empty) {
    const shown = this.#all.has(name) ? lines : lines.slice(0, FIRST);
    return html`<section aria-label=${name}><h2>${name} <small>${lines.length || ""}</small></h2>
      ${lines.length ? html`<div class="cards">${repeat(shown, (line) => line.path ?? line.name, card)}</div>`
        : html`<p class="quiet">${this.#search ? "Nothing found." : empty}</p>`}
      ${shown.length < lines.length ? html`<button @click=${() => { this.#all.add(name); this.#draw(); }}>
        Show all ${lines.length}</button>` : nothing}</section>`;
  }

  #scene(line) {
    return this.#card(line, `#/editor?${new URLSearchParams({ path: line.path })}`, { path: line.path }, html`
      ${line.fault ? html`<small class="bad" title=${line.fault}>${line.fault}</small>` : html`<small>${facts(line)}</small>
        <small>${line.keyframes} ${line.keyframes === 1 ? "keyframe" : "keyframes"}</small>`}`, this.#actions(line));
  }

  #run(line) {
    const page = line.kind === "wedge" ? "wedge" : "run";
    const done = line.status === "finished" || line.frames === null ? "" : ` · ${line.frames_done} of ${line.frames} frames`;
    return this.#card(line, `#/${page}?${new URLSearchParams({ path: line.path })}`, { path: line.path }, html`
      <small>${facts(line)}</small>
      <small class=${line.status === "finished" ? "good" : "warn"}>${line.kind === "wedge" ? "wedge" : line.status ?? "not begun"}${done}</small>
      ${line.keyframes?.length ? html`<small class="number" title="Relative error at each keyframe">error
        ${line.keyframes.slice(0, 4).map((key) => html`<span class="error-of">${key.frame}: ${percent(key.relative_error)}</span>`)}
        ${line.keyframes.length > 4 ? "…" : ""}</small>` : nothing}`, this.#actions(line));
  }

  #bundled(line) {
    return html`<article class="card" data-id="gallery:${line.name}">
      <button class="picture" data-do="open-gallery" title="A scene of your own from this" @click=${() => this.#new({ gallery: line.name })}>
        ${this.#image({ gallery: line.name }, line.name)}</button>
      <div class="card-text"><b>${title(line.name)}</b><small>${METHODS[line.method] ?? line.method} · ${line.dim}D</small>
        <small class="clamp" title=${line.text}>${line.text}</small></div></article>`;
  }

  #card(line, place, values, more, actions) {
    return html`<article class="card" data-id=${line.path}>
      <a class="picture" href=${place} tabindex="-1" aria-hidden="true">${this.#image(values, line.name)}</a>
      <div class="card-text"><a href=${place} data-do="open"><b>${line.name}</b></a>${more}</div>
      <div class="card-actions">${actions}</div></article>`;
  }

  #actions(line) {
    const button = (name, words, work) => html`<button class="plain" data-do=${name} aria-label="${words} ${line.name}"
      @click=${() => this.app.try(work).then(() => this.#load())}>${words}</button>`;
    return html`${button("duplicate", "Duplicate", async () => {
      const name = await askName("Duplicate", `${line.name}-copy`, "Duplicate");
      if (name) await post("item/duplicate", { path: line.path, name });
    })}${button("rename", "Rename", async () => {
      const name = await askName("Rename", line.name, "Rename");
      if (name && name !== line.name) await post("item/rename", { path: line.path, name });
    })}${button("delete", "Delete", async () => {
      const sure = await askYes(`Delete ${line.name}?`, "It is moved to the folder “trash” of the workspace.", "Delete");
      if (sure) await post("item/delete", { path: line.path });
    })}`;
  }

  #image(values, name) {
    const key = values.path ? `path:${values.path}` : `gallery:${values.gallery}`;
    const source = address("thumb", { ...values, n: this.#drawn.get(key) });
    return html`<img loading="lazy" alt="" data-thumb=${key} src=${source} title=${name}>`;
  }

  #thumb({ path, gallery }) {
    const key = path === undefined ? `gallery:${gallery}` : `path:${path}`;
    this.#drawn.set(key, (this.#drawn.get(key) ?? 0) + 1);
    this.#draw();
  }

  async #new(source) {
    const first = source.template ?? source.gallery;
    const name = await askName(`New scene: ${title(first)}`, first.replace(/^(blank|live)_/, "my-").replaceAll("_", "-"), "Create");
    if (!name) return;
    const made = await this.app.try(post("scene/new", { name, ...source }));
    if (made) this.app.go("editor", { path: made.path });
  }
}

const title = (name) => name.replaceAll("_", " ").replace(/^./, (sign) => sign.toUpperCase()).replace(/\b([23])d\b/g, "$1D");
const percent = (share) => (share === null || share === undefined ? "?" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`);
const facts = (line) => [METHODS[line.method] ?? line.method, line.cells?.join("×"), line.frames && `${line.frames} frames`]
  .filter(Boolean).join(" · ");
