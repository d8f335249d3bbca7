// The error of each keyframe over iterations or frames, on a logarithmic scale, as the run goes.
import uPlot from "../vendor/uplot/uPlot.esm.js";
import { keyWords } from "./job_words.js";

const COLOURS = ["--accent", "--warn", "--good", "--obstacle", "--bad", "--start"];
const HEIGHT = 170;
const LEAST = 1e-4;
const ALL = "all";
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000];

/** `take(event)` is given what `keyfluid run --json` prints; drawn at most once per picture of the screen. */
export class ErrorChart {
  #unit = null;
  #x = [];
  #curves = new Map();
  #plan = null;
  #plot = null;
  #drawn = "";
  #due = 0;

  constructor(host) {
    this.element = document.createElement("figure");
    this.element.className = "error-chart";
    this.element.dataset.id = "error-chart";
    this.element.hidden = true;
    const caption = document.createElement("figcaption");
    caption.textContent = "Relative error of each keyframe";
    this.element.append(caption);
    host.append(this.element);
    this.resizes = new ResizeObserver(() => this.#plot?.setSize(this.#size()));
    this.resizes.observe(this.element);
  }

  /** Points and the last error of each curve, for tests and words: {unit, x, curves: {path: [...]}}. */
  get values() { return { unit: this.#unit, x: [...this.#x], curves: Object.fromEntries(this.#curves) }; }

  take(event) {
    if (event.event === "plan") this.#plan = event;
    if (event.event === "plan" || event.event === "variant") this.#clear(null);
    if (event.event !== "progress" || !["iteration", "window", "frame"].includes(event.unit)) return;
    const found = event.errors && Object.keys(event.errors).length ? event.errors
      : Number.isFinite(event.error) ? { [ALL]: event.error } : null;
    if (!found) return;
    // The frames that follow a search only show what it has found.
    if (event.unit === "frame" && this.#unit !== null && this.#unit !== "frame") return;
    if (event.unit !== this.#unit) this.#clear(event.unit);
    this.#add(event.done, found);
    this.#due ||= requestAnimationFrame(() => { this.#due = 0; this.#draw(); });
  }

  leave() {
    cancelAnimationFrame(this.#due);
    this.resizes.disconnect();
    this.#plot?.destroy();
    this.element.remove();
  }

  #clear(unit) {
    this.#unit = unit;
    this.#x = [];
    this.#curves = new Map();
  }

  #add(x, errors) {
    while (this.#x.length && this.#x.at(-1) >= x) {
      this.#x.pop();
      for (const curve of this.#curves.values()) curve.pop();
    }
    for (const path of Object.keys(errors)) {
      if (!this.#curves.has(path)) this.#curves.set(path, this.#x.map(() => null));
    }
    this.#x.push(x);
    for (const [path, curve] of this.#curves) {
      curve.push(Number.isFinite(errors[path]) ? Math.max(errors[path], LEAST) : null);
    }
  }

  #draw() {
    this.element.hidden = this.#x.length === 0;
    if (!this.#x.length) return;
    const data = [this.#x, ...this.#curves.values()];
    const shape = [this.#unit, ...this.#curves.keys()].join(" ");
    if (this.#plot && shape === this.#drawn) this.#plot.setData(data);
    else {
      this.#drawn = shape;
      this.#plot?.destroy();
      this.#plot = new uPlot(this.#options(), data, this.element);
    }
    if (this.#plot.cursor.idx == null) this.#plot.setLegend({ idx: this.#x.length - 1 });
  }

  #options() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const lines = { stroke: colour("--line"), width: 1 };
    const axis = { stroke: colour("--quiet"), grid: lines, ticks: lines, font: "11px system-ui" };
    const words = (_, marks) => marks.map((mark) => (mark === null ? "" : String(Number(mark.toPrecision(2)))));
    return {
      ...this.#size(),
      cursor: { y: false },
      legend: { live: this.#curves.size < 7 },
      scales: { x: { time: false }, y: { distr: 3 } },
      axes: [{ ...axis, size: 28, incrs: STEPS }, { ...axis, size: 46, values: words }],
      series: [{ label: this.#unit }, ...[...this.#curves.keys()].map((path, place) => ({
        label: path === ALL ? "All keyframes" : keyWords(path, this.#plan),
        stroke: colour(COLOURS[place % COLOURS.length]), width: 1.5, spanGaps: true,
        value: (_, value) => value?.toPrecision(3) ?? "",
      }))],
    };
  }

  #size() { return { width: Math.max(this.element.clientWidth, 200), height: HEIGHT }; }
}
