// Questions to the server about the stage: one at a time, and of those that wait only the latest.
import { postArrays } from "../api.js";

export class StageFeed {
  #asking = false;
  #waiting = null;
  #number = 0;
  /** Milliseconds from the last question to its answer. */
  took = 0;

  /** answered: called with {header, arrays, shapes} and the question, in the order of questions. */
  constructor(state, answered, failed) { Object.assign(this, { state, answered, failed }); }

  /** All bodies, or those of `question.bodies`; `question.changes` are tried, not saved. */
  ask(question = {}) {
    const number = ++this.#number;
    // A question for some bodies does not push aside one for all: that one is asked with the newer changes.
    const all = this.#waiting && !this.#waiting.bodies && question.bodies;
    this.#waiting = { ...question, number, ...(all ? { bodies: undefined, draft: undefined } : {}) };
    this.#next();
  }

  async #next() {
    if (this.#asking || !this.#waiting) return;
    const { number, values, ...question } = this.#waiting;
    this.#waiting = null;
    this.#asking = true;
    const start = performance.now();
    try {
      const answer = await postArrays("stage", { path: this.state.path, text: this.state.text, ...question });
      this.took = performance.now() - start;
      answer.shapes = Object.fromEntries(answer.header.arrays.map(({ name, shape }) => [name, shape]));
      this.answered(answer, { ...question, values, latest: number === this.#number });
    } catch (error) {
      this.failed(error);
    } finally {
      this.#asking = false;
      this.#next();
    }
  }

  leave() {
    this.#waiting = null;
    this.answered = this.failed = () => {};
  }
}
