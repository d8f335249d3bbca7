// Under the stage: all bodies as buttons, and what is known of the chosen one in words.
import { html, nothing, render } from "../vendor/lit-html/lit-html.js";
import { tidy } from "./handles.js";

const SIZES = {
  resize: "its size follows the smoke",
  "first-key": "its size follows the first keyframe",
  mass: "its size follows its mass",
  match: "its density follows the smoke",
  together: "its size follows the smoke",
};

export class StageFacts {
  constructor(element, stage) { Object.assign(this, { element, stage }); }

  draw() {
    const { stage } = this;
    render(html`
      <div class="stage-bodies" role="listbox" aria-label="Bodies of the scene">
        ${[...stage.bodies.values()].map((body) => html`<button role="option" data-id=${body.id} data-role=${body.facts.role}
          aria-selected=${body.id === stage.selected} @click=${() => this.#choose(body)}>${body.title}</button>`)}
      </div>
      ${this.#words()}
      ${stage.faults.slice(0, 3).map((fault) => html`<p class="bad" data-id="stage-fault">${this.#fixes(fault)}${fault.path}: ${fault.message}</p>`)}`, this.element);
  }

  /** For a keyframe that has no room for the smoke: what can be done about it, in one press. */
  #fixes({ path }) {
    const { stage } = this, id = path.match(/^(keyframe\[\d+\])\.mass$/)?.[1], body = stage.bodies.get(id);
    if (!body) return nothing;
    const { data } = stage.state, liquid = Boolean(data?.liquid);
    const first = [...stage.bodies.values()].every(({ facts }) => facts.role !== "keyframe" || facts.frame >= body.facts.frame);
    const start = `${liquid ? "liquid" : "smoke"}.initial[0]`;
    const button = (name, words, change) => html`<button data-do=${name} @click=${() => stage.state.change([change], words)}>${words}</button>`;
    return html`<span class="fixes">
      ${first && stage.bodies.has(start) ? button("fix-first-key", "Size the start to it", { path: `${start}.${liquid ? "volume" : "mass"}`, value: "first-key" }) : nothing}
      ${liquid ? nothing : button("fix-match", "Thicken the smoke instead", { path: `${id}.mass`, value: "match" })}</span>`;
  }

  #choose(body) {
    this.stage.select(body.id);
    if (body.facts.role === "keyframe") this.stage.go(body.facts.frame);
    this.stage.views[0]?.canvas.focus({ preventScroll: true });
  }

  #words() {
    const { stage } = this, { body } = stage;
    if (!body) return html`<p class="quiet">Choose a shape to move, scale or turn it; drop a picture or a mesh here.</p>`;
    const { facts, now } = body;
    const sized = SIZES[facts.rule] && !(body.isFirstKey) ? html`<span title="mass rule of the scene">${SIZES[facts.rule]}: ×${tidy(facts.sized)}</span>` : nothing;
    const bound = facts.bound === null || facts.bound === undefined ? nothing
      : html`<span title="No rearrangement of the smoke that is there comes closer to this shape">least error of a rearrangement
        <b class=${facts.bound > 0.15 ? "warn" : "good"} data-id="bound">${(100 * facts.bound).toFixed(1)} %</b>${stage.exact ? "" : " (about)"}</span>`;
    return html`<p class="stage-words number">
      <b>${body.title}</b><span>${facts.kind} at ${now.center.map((value) => tidy(value)).join(", ")} m</span>
      <span data-id="sized" data-sized=${facts.sized}>${sized}</span>${bound}
      ${facts.role === "obstacle" ? this.#way(body) : nothing}
      <button class="plain" data-do="remove-body" @click=${() => stage.remove()}>${stage.wayPoint === null ? "Remove" : "Remove way point"}</button></p>`;
  }

  #way(body) {
    return html`<button class="plain" data-do="add-way-point" @click=${() => this.#addWayPoint(body)}
      title="Where the obstacle is at the frame that is shown">Way point at frame ${this.stage.frame}</button>`;
  }

  #addWayPoint(body) {
    const { stage } = this, { id, facts } = body, points = stage.wayPoints(body), { frame } = stage;
    const at = points.findIndex((point) => point.frame >= frame);
    if (points[at]?.frame === frame) return stage.app.say("There is a way point at this frame already; drag it, or show another frame.");
    const center = body.now.center.map(tidy);
    if (points.length) {
      const index = at < 0 ? points.length : at;
      const value = stage.pathOf(body);
      value.splice(index, 0, { frame, center });
      stage.state.change([{ path: `${id}.path`, value }], "Add way point");
      stage.wayPoint = index;
      return;
    }
    const removed = ["center", "velocity"].filter((key) => this.#has(id, key)).map((key) => ({ path: `${id}.${key}`, remove: true }));
    const first = { frame: 0, center: facts.center.map(tidy) };
    const path = frame > 0 ? [first, { frame, center }] : [first];
    stage.state.change([...removed, { path: `${id}.path`, value: path }], "Add way point");
    stage.wayPoint = path.length - 1;
  }

  #has(id, key) {
    const index = Number(id.match(/\d+/)[0]);
    return this.stage.state.data?.obstacle?.[index]?.[key] !== undefined;
  }
}
