import { html, render } from "../vendor/lit-html/lit-html.js";

export class Page {
  constructor(root, app) { Object.assign(this, { root, app }); }
  get title() { return "wedge"; }
  async show(values) { render(html`<p>wedge ${JSON.stringify(values)}</p>`, this.root); }
  leave() {}
}
