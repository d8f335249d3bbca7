// A scene: stage in the middle, time below, and at the side its keys, its text and its runs.
import { keys } from "../keys.js";
import { Inspector } from "../parts/inspector.js";
import { RunPanel } from "../parts/run_panel.js";
import { dimension } from "../parts/scene_paths.js";
import { SceneState } from "../parts/scene_state.js";
import { Stage } from "../parts/stage.js";
import { TextEditor } from "../parts/text_editor.js";
import { Timeline } from "../parts/timeline.js";
import { html, nothing, render } from "../vendor/lit-html/lit-html.js";

const TABS = [["inspector", "Inspector"], ["text", "Text"], ["run", "Run"]];

/** Parts are event targets, or their elements are. */
const listen = (part, type, listener) => (part.addEventListener ? part : part.element).addEventListener(type, listener);

export class Page {
  #tab = "inspector";
  #parts = [];

  constructor(root, app) {
    Object.assign(this, { root, app, path: "" });
    this.beforeUnload = (event) => { if (this.state?.saving) event.preventDefault(); };
  }

  get title() {
    const parts = this.path.split("/");
    return (parts.at(-1) === "scene.toml" ? parts.at(-2) : parts.at(-1)) ?? "";
  }

  async show({ path = "", tab, key }) {
    this.path = path;
    this.app.drawBar();
    this.state = new SceneState(path, this.app);
    await this.state.open();
    if (this.state.revision === null) {
      render(html`<div class="lost"><p>This scene can not be opened.</p><a href="#/home">Back to all scenes</a></div>`, this.root);
      return;
    }
    this.#lay();
    this.#connect();
    this.#shortcuts();
    addEventListener("beforeunload", this.beforeUnload);
    this.#choose(TABS.some(([name]) => name === tab) ? tab : "inspector");
    if (key) this.#reveal(key);
  }

  leave() {
    removeEventListener("beforeunload", this.beforeUnload);
    for (const part of this.#parts) part.leave?.();
    this.state?.leave();
  }

  #lay() {
    render(html`<div class="editor">
      <div class="editor-bar row"></div>
      <div class="editor-stage"></div>
      <div class="editor-time"></div>
      <aside class="editor-side">
        <div class="tabs row" role="tablist"></div>
        ${TABS.map(([name]) => html`<div class="tab" role="tabpanel" data-tab=${name} id="tab-${name}"></div>`)}
      </aside></div>`, this.root);
    const place = (name) => this.root.querySelector(name);
    this.stage = new Stage(place(".editor-stage"), this.state, this.app);
    this.timeline = new Timeline(place(".editor-time"), this.state);
    this.inspector = new Inspector(place("#tab-inspector"), this.state, this.app);
    this.text = new TextEditor(place("#tab-text"), this.state);
    this.runs = new RunPanel(place("#tab-run"), this.state, this.app);
    this.#parts = [this.stage, this.timeline, this.inspector, this.text, this.runs];
  }

  #connect() {
    for (const type of ["change", "status"]) this.state.addEventListener(type, () => this.#bar());
    this.state.addEventListener("outside", () =>
      this.app.say("Another program or tab changed the scene; this is its text now. Ctrl+Z brings yours back."));
    const select = (id) => {
      for (const part of [this.stage, this.timeline]) if (part.selected !== id) part.selected = id;
      this.inspector.select(id);
      this.timeline.update();
      this.#bar();
    };
    listen(this.stage, "select", (event) => select(event.detail?.id ?? this.stage.selected));
    listen(this.timeline, "select", (event) => select(event.detail.id));
    listen(this.inspector, "select", (event) => select(event.detail.id));
    listen(this.timeline, "frame", () => { this.stage.frame = this.timeline.frame; });
    listen(this.stage, "frame", () => { this.timeline.frame = this.stage.frame; });
    listen(this.timeline, "add", (event) => this.#addKey(event.detail.frame));
    listen(this.runs, "key", (event) => this.#reveal(event.detail?.path ?? event.detail));
  }

  #shortcuts() {
    keys.on("Ctrl+z", "Undo", () => this.state.undo());
    keys.on("Ctrl+Shift+z", "Redo", () => this.state.redo());
    keys.on("Ctrl+y", "Redo", () => this.state.redo());
    keys.on("Ctrl+s", "Save now (it also happens by itself)", () => this.state.save());
    keys.on("Space", "Play or pause", (event) => {
      const pressed = event.target.closest?.("button:not(.mark, .grip), summary, a"); // which Space presses, as everywhere
      if (pressed) pressed.click();
      else this.timeline.toggle();
    });
    keys.on("ArrowLeft", "One frame back", () => this.timeline.step(-1));
    keys.on("ArrowRight", "One frame on", () => this.timeline.step(1));
    keys.on("Home", "First frame", () => this.timeline.step(-1e9));
    keys.on("End", "Last frame", () => this.timeline.step(1e9));
    keys.on("k", "Add a keyframe at this frame", () => this.#addKey(this.timeline.frame));
    TABS.forEach(([name, title], index) => keys.on(String(index + 1), `Show ${title}`, () => this.#choose(name)));
  }

  #addKey(frame) {
    if (frame < 1) return this.app.say("Frame 0 is the start; go to a later frame to add a keyframe.");
    const { data } = this.state;
    const taken = (data?.keyframe ?? []).some((key) => key.frame <= frame && frame <= (key.until ?? key.frame) && !key.field);
    if (taken) return this.app.say(`There is a keyframe at frame ${frame} already.`);
    const size = data?.domain?.size ?? [1, 1];
    const radius = Math.round(200 * Math.min(...size)) / 1000;
    return this.inspector.add("keyframe", { frame, shape: dimension(data) === 3 ? "sphere" : "star", radius });
  }

  #choose(tab) {
    this.#tab = tab;
    for (const panel of this.root.querySelectorAll(".tab")) panel.hidden = panel.dataset.tab !== tab;
    render(html`${TABS.map(([name, title]) => html`<button role="tab" data-do="tab-${name}" aria-selected=${String(name === tab)}
      aria-controls="tab-${name}" @click=${() => this.#choose(name)}>${title}</button>`)}`, this.root.querySelector(".tabs"));
    if (tab === "text") this.text.update();
    this.#bar();
  }

  /** Show a key: in the text where it has a line, else in the inspector. */
  #reveal(path) {
    this.#choose("inspector");
    this.inspector.reveal(path);
  }

  #bar() {
    const { state } = this;
    const count = state.faults.length;
    const saved = state.conflict ? html`<span class="bad">not saved</span>`
      : state.saving ? html`<span class="warn">saving…</span>` : html`<span class="quiet">saved</span>`;
    render(html`
      ${["particles", "target"].includes(state.data?.control?.method) ? html`<button data-do="live" title="Run it while you turn its knobs"
        @click=${() => this.app.go("live", { scene: state.path })}>Live</button>` : ""}
      <button data-do="undo" ?disabled=${!state.canUndo} title=${`Undo ${state.canUndo ?? ""} (Ctrl+Z)`}
        @click=${() => state.undo()}>Undo</button>
      <button data-do="redo" ?disabled=${!state.canRedo} title=${`Redo ${state.canRedo ?? ""} (Ctrl+Shift+Z)`}
        @click=${() => state.redo()}>Redo</button>
      <span data-id="saved">${saved}</span>
      ${count ? html`<button class="plain bad" data-do="faults" @click=${() => this.#choose("text")}>
        ${count} ${count > 1 ? "faults" : "fault"}</button>` : nothing}
      ${state.conflict ? html`<span class="conflict row" role="alert">
        <span>The scene was changed elsewhere while you were changing it.</span>
        <button data-do="take-theirs" title="Yours stays one undo away" @click=${() => state.takeTheirs()}>Take theirs</button>
        <button data-do="keep-mine" title="Theirs stays one undo away" @click=${() => state.keepMine()}>Keep mine</button>
      </span>` : nothing}
      <span class="grow"></span>
      <code class="quiet">${this.path}</code>`, this.root.querySelector(".editor-bar"));
  }
}
