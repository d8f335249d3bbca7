// Keyboard shortcuts: a page registers them with the words that "?" shows.
import { html, render } from "./vendor/lit-html/lit-html.js";

const typing = (target) => target.matches?.("input:not([type=range]):not([type=checkbox]), textarea, select, [contenteditable]");

class Keys {
  #known = new Map();

  clear() { this.#known.clear(); }

  /** `name`: "Space", "ArrowLeft", "z", "Ctrl+z", "Ctrl+Shift+z"; Ctrl is also the Mac's command key. */
  on(name, words, action) { this.#known.set(name, { words, action }); }

  press(event) {
    const parts = [(event.ctrlKey || event.metaKey) && "Ctrl", event.altKey && "Alt", event.shiftKey && event.key.length > 1 | event.ctrlKey | event.metaKey && "Shift"];
    const key = event.key === " " ? "Space" : event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const name = [...parts.filter(Boolean), key].join("+");
    if (event.key === "?" && !typing(event.target)) return this.showAll();
    const found = this.#known.get(name);
    if (!found || (typing(event.target) && !name.startsWith("Ctrl"))) return;
    event.preventDefault();
    found.action(event);
  }

  showAll() {
    const dialog = document.createElement("dialog");
    render(html`<h2>Keyboard</h2>
      <dl class="keys">${[...this.#known].map(([name, { words }]) => html`<dt><code>${name}</code></dt><dd>${words}</dd>`)}</dl>
      <button @click=${() => dialog.close()}>Close</button>`, dialog);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }
}

export const keys = new Keys();
