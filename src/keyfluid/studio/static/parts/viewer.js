/** The film of a run; a line with its name until the viewer is there. */
export class Viewer {
  constructor(host, app) {
    this.app = app;
    this.element = document.createElement("p");
    host.append(this.element);
  }

  async load(path) { this.element.textContent = path; }
  leave() { this.element.remove(); }
}
