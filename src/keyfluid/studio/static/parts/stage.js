// The stage: the scene's bodies where the engine will put them, to be moved, scaled, turned, painted and typed.
import { html, render } from "../vendor/lit-html/lit-html.js";
import { Drop } from "./drop.js";
import { FlatView, viewsOf } from "./flat_view.js";
import { Handles, tidy } from "./handles.js";
import { Orbit } from "./orbit.js";
import { StageBody } from "./stage_body.js";
import { StageFacts } from "./stage_facts.js";
import { StageFeed } from "./stage_feed.js";
import { StageMaker } from "./stage_maker.js";

/** Events: "select" ({detail: {id}}), "frame" ({detail: {frame}}), "drawn" after an answer of the server ({detail: {took,
 *  whole: all bodies, latest: nothing has been asked since}}). */
export class Stage extends EventTarget {
  #frame = 0;
  #selected = null;
  #trying = null;
  #awaited = null;

  constructor(host, state, app) {
    super();
    Object.assign(this, { state, app, bodies: new Map(), views: [], wayPoint: null, onion: true, faults: [], warnings: [] });
    this.element = document.createElement("section");
    this.element.className = "stage";
    this.element.setAttribute("aria-label", "Stage");
    host.append(this.element);
    render(html`<div class="stage-tools row"></div><div class="stage-views"></div><div class="stage-facts"></div>`, this.element);
    const [tools, views, facts] = this.element.children;
    this.viewsElement = views;
    this.styles = getComputedStyle(this.element);
    this.facts = new StageFacts(facts, this);
    this.maker = new StageMaker(tools, this);
    this.drop_ = new Drop(this.element, this);
    this.feed = new StageFeed(state, (answer, question) => this.#answered(answer, question), (error) => app.say(error.message, true));
    this.changed = () => this.refresh();
    state.addEventListener("change", this.changed);
    this.refresh();
  }

  /** The frame that is shown; bodies that are not there then are faint. */
  get frame() { return this.#frame; }

  set frame(frame) {
    if (frame === this.#frame) return;
    this.#frame = frame;
    const moving = [...this.bodies.values()].filter(({ facts }) => facts.moves || (facts.until && facts.role === "keyframe"));
    if (moving.length) this.feed.ask({ frame, bodies: moving.map(({ id }) => id), draft: true, changes: this.#trying ?? undefined });
    this.maker.draw();
    this.redraw();
  }

  get body() { return this.bodies.get(this.selected) ?? null; }

  /** The id of the chosen body, or null. */
  get selected() { return this.#selected; }

  set selected(id) {
    if (this.#selected === id) return;
    this.#selected = id;
    this.wayPoint = null;
    this.redraw();
  }

  /** Choose a body by its id, or none, and say so. */
  select(id) {
    if (this.#selected === id) return;
    this.selected = id;
    this.dispatchEvent(new CustomEvent("select", { detail: { id } }));
  }

  /** Choose a body that has just been added, and is not drawn yet. */
  await(id) {
    this.#awaited = id;
    this.select(id);
  }

  #lookForChosen(bodies, had) {
    if (bodies.some(({ id }) => id === this.#awaited)) this.#awaited = null;
    if (had && !this.bodies.has(this.selected) && this.selected !== this.#awaited) this.select(null);
  }

  /** Ask for everything again; in 3D coarsely first. */
  refresh() {
    if (!this.state.text) return;
    if (this.dim === 3) this.feed.ask({ frame: this.#frame, draft: true, soon: true });
    else this.feed.ask({ frame: this.#frame });
  }

  redraw() {
    for (const view of this.views) view.draw();
    this.orbit?.draw();
    this.facts.draw();
  }

  #answered({ header, arrays, shapes }, question) {
    // What was tried and is over by now: the whole stage has been asked for since.
    if (question.changes && !this.#trying) return;
    if (!header.bodies) {
      this.faults = header.faults;
      this.facts.draw();
      this.#tellDrawn(question);
      return;
    }
    this.#lay(header);
    if (!question.bodies) {
      this.faults = header.faults;
      this.warnings = header.warnings;
      const had = this.bodies.has(this.selected);
      for (const id of this.bodies.keys()) if (!header.bodies.some((facts) => facts.id === id)) this.bodies.delete(id);
      this.#lookForChosen(header.bodies, had);
    }
    for (const facts of header.bodies) {
      const found = Object.keys(arrays).filter((name) => name === facts.id || name.startsWith(`${facts.id}/`));
      const own = Object.fromEntries(found.map((name) => [name.slice(facts.id.length + 1), { values: arrays[name], shape: shapes[name] }]));
      const body = this.bodies.get(facts.id) ?? new StageBody(facts);
      const dragged = this.#trying && question.values?.id === facts.id;
      body.update(facts, own, dragged ? question.values.place : undefined);
      if (!this.#trying || !this.bodies.has(facts.id)) body.now = body.at;
      this.bodies.set(facts.id, body);
    }
    this.bodies = new Map([...this.bodies].sort(([one], [two]) => ORDER(one) - ORDER(two)));
    if (question.bodies && this.#trying) this.faults = header.faults;
    if (question.soon && question.latest) this.feed.ask({ frame: this.#frame });
    this.redraw();
    this.#tellDrawn(question);
  }

  #tellDrawn({ bodies, latest }) {
    this.dispatchEvent(new CustomEvent("drawn", { detail: { took: this.feed.took, whole: !bodies, latest } }));
  }

  /** Views for this domain, made again when it changes. */
  #lay({ dim, size, up, spacing, frames, cells, exact }) {
    Object.assign(this, { dim, size, spacing, frames, cells, exact, up });
    const key = JSON.stringify([dim, size, up]);
    if (this.laid === key) return;
    this.laid = key;
    for (const view of this.views) view.leave();
    this.orbit?.leave();
    this.viewsElement.replaceChildren();
    this.viewsElement.dataset.dim = dim;
    this.orbit = dim === 3 ? new Orbit(this.viewsElement, this) : null;
    this.views = viewsOf(dim, up).map((view) => new FlatView(this.viewsElement, view, size, this));
    for (const view of this.views) view.handles = new Handles(view, this);
    this.maker.draw();
  }

  /** The body at a point of a view becomes the chosen one; those of the current frame come first. */
  pick(view, plane, choose = true) {
    const found = [...this.bodies.values()].filter((body) => body.holds(view, plane, this.styles));
    found.sort((one, two) => rank(two, this) - rank(one, this));
    if (choose) this.select(found[0]?.id ?? null);
    return found[0] ? { mode: "move" } : null;
  }

  /** Show a body at `place` ({center, scale, turn, rotation}) and ask for what the engine makes of the changes. */
  drag(body, place, changes) {
    body.now = place;
    this.#trying = changes;
    this.feed.ask({ frame: this.#frame, bodies: [body.id], draft: true, changes, values: { id: body.id, place } });
    for (const view of this.views) view.draw();
  }

  /** Keep what was dragged, or tried. */
  drop(label, changes = this.#trying) {
    this.#trying = null;
    if (changes?.length) this.state.change(changes, label);
    else this.refresh();
  }

  undrag() {
    this.#trying = null;
    for (const body of this.bodies.values()) body.now = body.at;
    this.refresh();
    this.redraw();
  }

  /** Try changes without a body that is dragged, such as a text that is being typed; null ends it. */
  try(changes, bodies) {
    this.#trying = changes;
    if (changes) this.feed.ask({ frame: this.#frame, bodies, draft: true, changes });
    else this.refresh();
  }

  /** Way points of an obstacle; nothing for other bodies. */
  wayPoints(body) { return body?.facts.path ?? []; }

  /** The path of an obstacle as the scene has it, turns included. */
  pathOf(body) {
    const index = Number(body.id.match(/\d+/)[0]);
    return (this.state.data?.obstacle?.[index]?.path ?? this.wayPoints(body)).map((point) => ({ ...point }));
  }

  wayChanges(body, centers) {
    const value = this.pathOf(body).map((point, i) => ({ ...point, center: centers[i].map(tidy) }));
    return [{ path: `${body.id}.path`, value }];
  }

  remove() {
    const { body } = this;
    if (!body) return;
    if (this.wayPoint !== null && this.wayPoints(body).length > 1) {
      const value = this.pathOf(body).filter((_, i) => i !== this.wayPoint);
      this.state.change([{ path: `${body.id}.path`, value }], "Remove way point");
      this.wayPoint = null;
      return;
    }
    this.select(null);
    this.state.change([{ path: body.id, remove: true }], `Remove ${body.title.toLowerCase()}`);
  }

  /** Double click or Enter: change a text where it stands, paint a picture; go to a keyframe's frame. */
  open(view, point) {
    if (point) this.pick(view, view.toPlane(point));
    const { body } = this;
    if (!body) return;
    if (body.facts.role === "keyframe") this.go(body.facts.frame);
    if (body.facts.kind === "text") this.maker.type(view, body);
    if (body.facts.kind === "image" && this.dim === 2) this.maker.paint(body);
  }

  /** Show another frame, and say so. */
  go(frame) {
    this.frame = frame;
    this.dispatchEvent(new CustomEvent("frame", { detail: { frame } }));
  }

  leave() {
    this.state.removeEventListener("change", this.changed);
    this.feed.leave();
    for (const view of this.views) view.leave();
    this.orbit?.leave();
    this.maker.leave();
    this.drop_.leave();
    this.element.remove();
  }
}

const ROLES = ["initial", "source", "obstacle", "keyframe"];
const ORDER = (id) => ROLES.findIndex((role) => id.includes(role)) * 1000 + Number(id.match(/\[(\d+)\]$/)?.[1] ?? 0);
const rank = (body, stage) => 4 * (body.id === stage.selected) + 2 * body.present(stage.frame) + (body.facts.role === "keyframe");
