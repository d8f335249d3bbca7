/** The scene's domain with everything in it. */
export class Stage extends EventTarget {
  frame = 0;
  selected = null;

  constructor(host, state, app) {
    super();
    Object.assign(this, { state, app });
    this.element = document.createElement("div");
    this.element.className = "stage";
    host.append(this.element);
  }

  leave() { this.element.remove(); }
}
