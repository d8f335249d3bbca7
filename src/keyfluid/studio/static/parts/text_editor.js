// The scene as TOML: line numbers, light colours, faults at their lines while typing.
import { html, render } from "../vendor/lit-html/lit-html.js";

const TOKENS = /(#.*$)|("""|'''|"(?:[^"\\]|\\.)*"?|'[^']*'?)|(^\s*\[\[?[^\]]*\]\]?)|(^\s*[\w."'-]+(?=\s*=)|[\w-]+(?=\s*=[^=]))|(\b(?:true|false)\b|[+-]?\b\d[\d_.eE+-]*)/g;
const CLASSES = ["comment", "text", "table", "key", "number"];
const MOST_COLOURED = 4000; // lines

/** `reveal(line)` shows a line; faults below jump to theirs, and fire "key" with the path. */
export class TextEditor extends EventTarget {
  #lines = [];

  constructor(host, state) {
    super();
    this.state = state;
    this.element = document.createElement("div");
    this.element.className = "text-editor";
    host.append(this.element);
    render(html`
      <div class="text-area">
        <pre class="text-lines" aria-hidden="true"></pre>
        <pre class="text-colours" aria-hidden="true"></pre>
        <textarea id="scene-text" class="code" wrap="off" spellcheck="false" autocapitalize="off" autocomplete="off"
          aria-label="Scene as TOML" aria-describedby="scene-faults"></textarea>
      </div>
      <div class="text-faults" id="scene-faults" role="status"></div>`, this.element);
    this.area = this.element.querySelector("textarea");
    this.numbers = this.element.querySelector(".text-lines");
    this.colours = this.element.querySelector(".text-colours");
    this.area.addEventListener("input", () => { state.setText(this.area.value); this.#draw(); });
    this.area.addEventListener("scroll", () => this.#scroll());
    this.update = this.update.bind(this);
    state.addEventListener("change", this.update);
    this.update();
  }

  update() {
    if (this.area.value !== this.state.text) {
      const { selectionStart, selectionEnd, scrollTop } = this.area;
      this.area.value = this.state.text;
      this.area.setSelectionRange(selectionStart, selectionEnd);
      this.area.scrollTop = scrollTop;
    }
    this.#draw();
  }

  /** Put the caret on a line, counted from 1, and show it. */
  reveal(line) {
    const before = this.area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    const end = this.area.value.indexOf("\n", before);
    this.area.focus();
    this.area.setSelectionRange(before, end < 0 ? this.area.value.length : end);
    const height = this.area.scrollHeight / Math.max(1, this.#lines.length);
    this.area.scrollTop = Math.max(0, (line - 4) * height);
    this.#scroll();
  }

  leave() { this.state.removeEventListener("change", this.update); }

  #draw() {
    const faults = this.state.faults;
    const bad = new Map(faults.filter(({ line }) => line).map((fault) => [fault.line, fault.message]));
    const lines = this.area.value.split("\n");
    this.#paint(lines, bad);
    render(faults.length ? html`<ul>${faults.map((fault) => html`<li><button class="plain bad" data-do="fault"
        data-id=${fault.path} @click=${() => this.#go(fault)}>${fault.line ? html`<b>line ${fault.line}</b> ` : ""}
        ${fault.path ? html`<code>${fault.path}</code>: ` : ""}${fault.message}</button></li>`)}</ul>`
      : html`<span class="good">No faults</span>`, this.element.querySelector(".text-faults"));
    this.#scroll();
  }

  #paint(lines, bad) {
    while (this.colours.childElementCount > lines.length) {
      this.colours.lastElementChild.remove();
      this.numbers.lastElementChild.remove();
    }
    while (this.colours.childElementCount < lines.length) {
      this.numbers.append(Object.assign(document.createElement("span"), { textContent: this.numbers.childElementCount + 1 }));
      this.colours.append(document.createElement("span"));
    }
    lines.forEach((text, index) => {
      const line = this.colours.children[index];
      if (this.#lines[index] !== text || !line.hasChildNodes()) line.replaceChildren(...coloured(text, lines.length));
      line.classList.toggle("fault-line", bad.has(index + 1));
      const number = this.numbers.children[index];
      number.classList.toggle("fault-line", bad.has(index + 1));
      number.title = bad.get(index + 1) ?? "";
    });
    this.#lines = lines;
  }

  #go(fault) {
    if (fault.line) this.reveal(fault.line);
    if (fault.path) this.dispatchEvent(new CustomEvent("key", { detail: { path: fault.path } }));
  }

  #scroll() {
    this.colours.scrollTop = this.numbers.scrollTop = this.area.scrollTop;
    this.colours.scrollLeft = this.area.scrollLeft;
  }
}

function coloured(text, count) {
  if (count > MOST_COLOURED || text.length > 2000) return [document.createTextNode(`${text}\n`)];
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(TOKENS)) {
    if (match.index > end) nodes.push(document.createTextNode(text.slice(end, match.index)));
    const kind = CLASSES[match.slice(1).findIndex((part) => part !== undefined)];
    nodes.push(Object.assign(document.createElement("span"), { className: `toml-${kind}`, textContent: match[0] }));
    end = match.index + match[0].length;
  }
  nodes.push(document.createTextNode(`${text.slice(end)}\n`));
  return nodes;
}
