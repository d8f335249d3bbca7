// The frame of all pages: the bar, messages, and which page the address names (#/editor?path=scenes/word/scene.toml).
import { events, get, Refusal } from "./api.js";
import { keys } from "./keys.js";
import { JobsBar } from "./parts/jobs_bar.js";
import { html, render } from "./vendor/lit-html/lit-html.js";

const PAGES = { home: "home", editor: "editor", run: "run", compare: "compare", wedge: "wedge", live: "live", fix: "fix" };
let place = document.getElementById("page");
let current = null;
let hello = {};

/** What a page is given: the server's greeting, ways to another page and to say something. */
export const app = {
  get hello() { return hello; },
  go(page, values = {}) {
    location.hash = `#/${page}${Object.keys(values).length ? `?${new URLSearchParams(values)}` : ""}`;
  },
  /** Show a line for some seconds; `bad` for what went wrong. */
  say(text, bad = false) {
    const line = document.createElement("div");
    line.textContent = text;
    line.className = bad ? "bad" : "";
    document.getElementById("messages").append(line);
    setTimeout(() => line.remove(), bad ? 12000 : 5000);
  },
  /** Wait for something, and say what went wrong with it. */
  async try(work) {
    try {
      return await (typeof work === "function" ? work() : work);
    } catch (error) {
      if (error.name !== "AbortError") app.say(error.message, true);
      if (!(error instanceof Refusal) && error.name !== "AbortError") console.error(error);
      return undefined;
    }
  },
};

async function show() {
  const [name, values] = location.hash.replace(/^#\//, "").split("?");
  const page = PAGES[name] ? name : "home";
  const module = await import(`./pages/${PAGES[page]}.js`);
  current?.leave?.();
  keys.clear();
  // A new element, because lit-html remembers what it rendered in the old one.
  const fresh = Object.assign(document.createElement("main"), { id: "page", tabIndex: -1 });
  place.replaceWith(fresh);
  place = fresh;
  place.dataset.page = page;
  current = new module.Page(place, app);
  drawBar();
  await app.try(() => current.show(Object.fromEntries(new URLSearchParams(values ?? ""))));
  place.focus({ preventScroll: true });
}

function drawBar() {
  const state = events.connected ? html`` : html`<span class="warn">connecting…</span>`;
  const warming = hello.warm === false ? html`<span class="warn">compiling kernels, the first time takes a few minutes</span>` : html``;
  render(html`
    <a class="brand" href="#/home"><img src="/static/icon.svg" alt="">keyfluid studio</a>
    <span class="grow">${current?.title ?? ""}</span>${warming}${state}
    <span id="jobs-bar"></span>
    <button class="plain" title="Keyboard shortcuts (?)" @click=${() => keys.showAll()}>?</button>`,
  document.getElementById("bar"));
}
app.drawBar = drawBar;

addEventListener("hashchange", show);
addEventListener("keydown", (event) => keys.press(event));
for (const type of ["connected", "lost"]) events.on(type, drawBar);
events.on("warm", () => { hello = { ...hello, warm: true }; drawBar(); });
events.connect();
hello = (await app.try(get("hello"))) ?? {};
await show();
new JobsBar(document.getElementById("jobs-bar"), app);
