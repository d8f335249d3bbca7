// A live run: the smoke at its interactive rate, and sliders that act on the next frame.
import { get } from "../api.js";
import { keys } from "../keys.js";
import { LiveSocket } from "../parts/live_socket.js";
import { LiveView } from "../parts/live_view.js";
import { html, render } from "../vendor/lit-html/lit-html.js";
import { live } from "../vendor/lit-html/directives/live.js";

const METHODS = ["particles", "target"];
const shown = (value) => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : Number(value.toPrecision(3)).toString());

export class Page {
  #socket = null;
  #view = null;
  #state = "preparing";
  #playing = true;
  #knobs = [];
  #acts = {};
  #frame = 0;
  #rate = 0;
  #before = 0;

  constructor(root, app) { Object.assign(this, { root, app }); }
  get title() { return this.about ? `${this.about.name}, live` : "live"; }

  async show({ scene }) {
    if (!scene) {
      await this.#choose();
      return;
    }
    this.scene = scene;
    this.root.replaceChildren();
    this.page = document.createElement("div");
    this.page.className = "live";
    this.root.append(this.page);
    this.#draw();
    this.#connect();
    keys.on("Space", "play or pause", () => this.#play(!this.#playing));
    keys.on("r", "restart from frame 0 with these values", () => this.#restart());
    keys.on("s", "save as a scene", () => this.#ask());
  }

  leave() {
    this.#socket?.close();
    this.#view?.leave();
  }

  /** Scenes that can run live, where none is named. */
  async #choose() {
    const { scenes } = await get("home");
    const able = scenes.filter(({ method }) => METHODS.includes(method));
    render(html`<section class="live-choice panel">
      <h1>Live</h1>
      <p class="quiet">Scenes whose method is “particles” or “target” run while you turn their knobs.</p>
      ${able.map(({ path, name, method }) => html`<p><a href="#/live?${new URLSearchParams({ scene: path })}">${name}</a>
        <small>${method}</small></p>`)}
      ${able.length ? "" : html`<p>There is none yet. Make one from the gallery on the <a href="#/home">home page</a>.</p>`}
    </section>`, this.root);
  }

  #connect() {
    const socket = this.#socket = new LiveSocket(this.scene);
    this.#state = "preparing";
    socket.addEventListener("ready", ({ detail }) => this.#begin(detail));
    socket.addEventListener("frame", ({ detail }) => this.#take(detail));
    socket.addEventListener("set", ({ detail }) => {
      for (const key of Object.keys(detail.keys)) this.#acts[key] = detail.frame;
      this.#draw();
    });
    socket.addEventListener("saved", ({ detail }) => {
      this.app.say(`Saved as ${detail.path}`);
      this.saved = detail.path;
      this.#draw();
    });
    socket.addEventListener("error", ({ detail }) => this.app.say(detail.message, true));
    socket.addEventListener("ended", () => { this.#state = "ended"; this.#draw(); });
  }

  #begin(about) {
    this.about = about;
    this.#knobs = about.knobs.map((knob) => ({ ...knob, first: knob.value }));
    this.#state = "running";
    this.app.drawBar?.();
    this.#draw();
    this.#view?.leave();
    this.#view = new LiveView(this.page.querySelector(".live-stage"));
    this.app.try(() => this.#view.setup(about));
  }

  #take(frame) {
    const now = performance.now();
    if (this.#before) this.#rate = 0.8 * this.#rate + 0.2 * (1000 / (now - this.#before)) || 0;
    this.#before = now;
    this.#frame = frame.header.frame;
    this.seconds = frame.header.seconds_per_frame;
    this.#view.draw(frame);
    this.#draw();
  }

  #set(knob, value) {
    knob.value = Number(value);
    this.waiting = { ...this.waiting, [knob.key]: knob.value };
    this.#draw();
    // One message for all that a hand moves within a few milliseconds.
    this.timer ??= setTimeout(() => {
      this.#socket.send("set", { keys: this.waiting });
      this.waiting = this.timer = undefined;
    }, 30);
  }

  #play(playing) {
    this.#playing = playing;
    this.#before = 0;
    this.#socket.send(playing ? "play" : "pause");
    this.#draw();
  }

  #restart() {
    this.#playing = true;
    if (this.#state !== "ended") {
      this.#socket.send("restart");
      this.#draw();
      return;
    }
    const values = Object.fromEntries(this.#knobs.filter((knob) => knob.value !== knob.first).map((knob) => [knob.key, knob.value]));
    this.#connect();
    this.#socket.addEventListener("ready", () => {
      for (const knob of this.#knobs) if (knob.key in values) this.#set(knob, values[knob.key]);
    }, { once: true });
    this.#draw();
  }

  #ask() {
    const dialog = document.createElement("dialog");
    const close = (save) => {
      const name = dialog.querySelector("input").value.trim();
      if (save && name) this.#socket.send("save", { name });
      dialog.close();
    };
    render(html`<form method="dialog" @submit=${() => close(true)}>
      <h2>Save as scene</h2>
      <p><label>Name <input data-id="save-name" .value=${`${this.about?.name ?? "scene"}-live`}></label></p>
      <p class="quiet">The scene with the values of the sliders, in a folder of its own.</p>
      <p class="row"><button class="main" data-do="save-now">Save</button>
        <button type="button" @click=${() => close(false)}>Cancel</button></p></form>`, dialog);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  #status() {
    if (this.#state === "preparing") return html`<span class="warn">Preparing. The first time kernels are compiled, which takes a minute.</span>`;
    if (this.#state === "ended") return html`<span class="bad">The live run has ended.</span>`;
    const rate = this.#playing && this.#rate ? `${this.#rate.toFixed(1)} frames per second` : "paused";
    return html`<span>Frame <b class="number" data-id="frame">${this.#frame}</b> of ${this.about.frames}</span>
      <span class="quiet number" data-id="rate">${rate}</span>
      <span class="quiet number">${this.seconds ? `${(1000 * this.seconds).toFixed(0)} ms to compute` : ""}</span>`;
  }

  #draw() {
    if (!this.page) return;
    const off = this.#state === "preparing";
    render(html`
      <div class="live-bar row">
        <button data-do="play" ?disabled=${this.#state !== "running"} @click=${() => this.#play(!this.#playing)}>
          ${this.#playing ? "Pause" : "Play"}</button>
        <button data-do="restart" ?disabled=${off} title="Restart (r)" @click=${() => this.#restart()}>Restart</button>
        <button data-do="save" ?disabled=${this.#state !== "running"} @click=${() => this.#ask()}>Save as scene…</button>
        <a href="#/editor?${new URLSearchParams({ path: this.saved ?? this.scene })}">Open in the editor</a>
        <span class="grow"></span>${this.#status()}
      </div>
      <div class="live-stage"></div>
      <aside class="live-knobs panel">
        <h2>Knobs</h2>
        ${this.#knobs.map((knob) => this.#slider(knob))}
      </aside>`, this.page);
  }

  #slider(knob) {
    const id = `knob-${knob.key}`;
    return html`<div class="live-knob" data-knob=${knob.key} data-acts=${this.#acts[knob.key] ?? 0}>
      <label for=${id}>${knob.label}</label>
      <output class="number" for=${id}>${shown(knob.value)} <small>${knob.unit}</small></output>
      <input type="range" id=${id} min=${knob.min} max=${knob.max} step="any" .value=${live(String(knob.value))}
        @input=${(event) => this.#set(knob, event.target.value)}>
      <button class="plain" title="Back to the scene's value" ?disabled=${knob.value === knob.first}
        aria-label="${knob.label}: back to the scene's value" @click=${() => this.#set(knob, knob.first)}>↺</button>
      <small>${knob.help}</small></div>`;
  }
}
