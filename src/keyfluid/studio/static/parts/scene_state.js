// The scene that a page shows. Its text is the truth: all parts change it here, and here it is saved, undone and redone.
import { events, get, post, put } from "../api.js";

const CHECK = 200; // milliseconds after the last key until faults are looked for
const SAVE = 700; // and until the text is saved
const MOST_STEPS = 300;
const MOST_KEPT = 16e6; // characters of all steps

/**
 * Fires "change" when text, data or faults are new, and "status" when only `dirty`, `conflict` or the steps are.
 * `conflict`: what another program or tab saved meanwhile, {revision, text}, until takeTheirs or keepMine.
 */
export class SceneState extends EventTarget {
  text = "";
  data = null;
  faults = [];
  files = [];
  revision = null;
  dirty = false;
  conflict = null;
  #undo = [];
  #redo = [];
  #queue = Promise.resolve();
  #timers = [];
  #typing = false;
  #waiting = 0;
  #ends;

  constructor(path, app) {
    super();
    Object.assign(this, { path, app });
    this.#ends = [
      events.on("file", (event) => event.path === this.path && event.revision !== this.revision && this.#refresh()),
      events.on("reset", () => this.#refresh()),
      events.on("connected", () => this.dirty && this.save()),
    ];
  }

  /** Read the file. */
  open() {
    return this.#do(async () => this.#take(await get("scene", { path: this.path })));
  }

  /** Whether the file is not yet what the page shows. */
  get saving() { return this.dirty || this.#waiting > 0; }

  get canUndo() { return this.#undo.at(-1)?.label ?? null; }
  get canRedo() { return this.#redo.at(-1)?.label ?? null; }

  /** Make changes ({path, value} | {path, remove} | {path, insert, at}); true once they are saved. */
  change(changes, label = "Change") {
    return this.#do(async () => {
      await this.#save();
      const before = this.text;
      if (!this.conflict) {
        try {
          const answer = await post("scene/change", { path: this.path, revision: this.revision, changes });
          if (this.text === before) this.#take(answer, before, label);
          else this.#clash(answer); // typed meanwhile
          return true;
        } catch (error) {
          if (error.status !== 409) throw error;
          this.#clash(error);
        }
      }
      // Theirs is in the file; ours goes on here until the person chooses.
      const mine = await post("scene/check", { path: this.path, text: before, changes });
      this.dirty = true;
      this.#take(mine, before, label);
      return true;
    });
  }

  /** The text as it is typed; saved by itself a moment later. */
  setText(text, label = "Typing") {
    if (text === this.text) return;
    if (!this.#typing) this.#remember(this.text, label);
    this.#typing = true;
    this.text = text;
    this.dirty = true;
    this.#stopTimers();
    this.#timers = [setTimeout(() => this.#check(), CHECK), setTimeout(() => this.save(), SAVE)];
    this.#fire("status");
  }

  undo() { return this.#step(() => [this.#undo, this.#redo]); }
  redo() { return this.#step(() => [this.#redo, this.#undo]); }

  /** Save now what is not saved yet. */
  save() { return this.#do(() => this.#save()); }

  /** After a conflict: the file's text, with mine one undo away. */
  takeTheirs() {
    return this.#do(async () => {
      const mine = this.text;
      this.#stopTimers();
      this.#typing = this.dirty = false;
      this.conflict = null;
      this.#take(await get("scene", { path: this.path }), mine, "Take theirs");
    });
  }

  /** After a conflict: my text, with the file's one undo away. */
  keepMine() {
    return this.#do(async () => {
      const theirs = this.conflict;
      this.#typing = false;
      this.conflict = null;
      this.revision = theirs.revision;
      this.#remember(theirs.text, "Keep mine");
      this.dirty = true;
      await this.#save();
    });
  }

  /** The page goes; what is not saved yet is saved. */
  leave() {
    this.#stopTimers();
    for (const end of this.#ends) end();
    if (this.dirty && !this.conflict) this.save();
  }

  /** One thing after the other, so that each knows the revision that the one before made. */
  #do(work) {
    this.#waiting += 1;
    this.#fire("status");
    this.#queue = this.#queue.then(async () => {
      const result = await this.app.try(work);
      this.#waiting -= 1;
      this.#fire("status");
      return result;
    });
    return this.#queue;
  }

  async #save() {
    this.#stopTimers();
    this.#typing = false;
    if (!this.dirty || this.conflict) return;
    const text = this.text;
    try {
      const answer = await put("scene", { path: this.path }, { revision: this.revision, text });
      this.revision = answer.revision;
      if (this.text !== text) return; // typed meanwhile; its own timers save it
      this.dirty = false;
      this.#take(answer);
    } catch (error) {
      if (error.status !== 409) throw error;
      this.#clash(error);
    }
  }

  async #check() {
    const text = this.text;
    const answer = await this.app.try(post("scene/check", { path: this.path, text }));
    if (!answer || this.text !== text) return;
    this.#take(answer);
  }

  #refresh() {
    return this.#do(async () => {
      const there = await get("scene", { path: this.path });
      if (there.revision === this.revision) return;
      if (this.dirty) return this.#clash(there);
      const same = there.text === this.text;
      this.#take(there, same ? null : this.text, "Change from outside");
      if (!same) this.dispatchEvent(new Event("outside"));
    });
  }

  #clash({ revision, text }) {
    this.conflict = { revision, text };
    this.#fire("status");
  }

  #step(stacks) {
    return this.#do(async () => {
      const [from, to] = stacks();
      const entry = from.pop();
      if (!entry) return;
      this.#stopTimers();
      this.#typing = false;
      to.push({ text: this.text, label: entry.label });
      this.text = entry.text;
      this.dirty = true;
      if (this.conflict) await this.#check();
      else await this.#save();
    });
  }

  #remember(text, label) {
    this.#redo = [];
    this.#undo.push({ text, label });
    let kept = this.#undo.reduce((sum, entry) => sum + entry.text.length, 0);
    while (this.#undo.length > MOST_STEPS || (kept > MOST_KEPT && this.#undo.length > 1)) {
      kept -= this.#undo.shift().text.length;
    }
  }

  /** What the server says of the scene; before: the text that an undo brings back. */
  #take(answer, before = null, label = "") {
    if (before !== null && before !== answer.text) this.#remember(before, label);
    if (answer.text !== undefined) this.text = answer.text;
    this.data = answer.data ?? this.data; // a text that does not parse leaves the last picture standing
    this.faults = answer.faults;
    if (answer.revision !== undefined) this.revision = answer.revision;
    if (answer.files !== undefined) this.files = answer.files;
    this.#fire("change");
    this.#fire("status");
  }

  #stopTimers() {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers = [];
  }

  #fire(type) { this.dispatchEvent(new Event(type)); }
}
