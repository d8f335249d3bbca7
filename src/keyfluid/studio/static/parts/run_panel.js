/** Runs of a scene. */
export class RunPanel extends EventTarget {
  constructor(host, state, app) {
    super();
    Object.assign(this, { state, app });
    this.element = document.createElement("div");
    host.append(this.element);
  }

  leave() { this.element.remove(); }
}
