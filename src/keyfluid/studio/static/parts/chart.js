// One chart of a run's course: curves over iterations or frames, by uPlot, in the page's colours.
import uPlot from "../vendor/uplot/uPlot.esm.js";

const COLOURS = ["--accent", "--warn", "--good", "--obstacle", "--bad", "--start"];

/** chart: {title, x, unit, logarithmic, curves: [{name, x, y}]} as GET /api/run gives it. */
export class Chart {
  constructor(host, chart) {
    this.element = document.createElement("figure");
    this.element.className = "chart";
    const caption = document.createElement("figcaption");
    caption.textContent = chart.unit ? `${chart.title}, ${chart.unit}` : chart.title;
    this.element.append(caption);
    host.append(this.element);
    const style = getComputedStyle(document.documentElement);
    const rem = parseFloat(style.fontSize);
    const box = () => ({ width: Math.max(this.element.clientWidth, 200), height: Math.round(9.4 * rem) });
    const colour = (name) => style.getPropertyValue(name).trim();
    const values = chart.curves.flatMap(({ y }) => y.filter((one) => one > 0));
    const wide = values.length > 1 && Math.max(...values) > 100 * Math.min(...values);
    const all = chart.curves.every(({ y }) => y.every((one) => one > 0));
    const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, font: `${0.7 * rem}px system-ui` };
    const label = (_, marks) => marks.map((mark) => (mark === null ? "" : Math.abs(mark) >= 1e4 || (mark && Math.abs(mark) < 1e-3)
      ? mark.toExponential(0) : String(Number(mark.toPrecision(3)))));
    this.plot = new uPlot({
      ...box(),
      legend: { show: chart.curves.length > 1, live: false }, cursor: { y: false },
      scales: { x: { time: false }, y: { distr: all && (chart.logarithmic ?? wide) ? 3 : 1 } },
      axes: [{ ...axis, size: 1.8 * rem }, { ...axis, size: 3.3 * rem, values: label }],
      series: [{ label: chart.x }, ...chart.curves.map(({ name }, place) => ({
        label: name, stroke: colour(COLOURS[place % COLOURS.length]), width: 1.5, points: { show: false }, spanGaps: true,
      }))],
    }, uPlot.join(chart.curves.map(({ x, y }) => [x, y])), this.element);
    this.resizes = new ResizeObserver(() => this.plot.setSize(box()));
    this.resizes.observe(this.element);
  }

  leave() {
    this.resizes.disconnect();
    this.plot.destroy();
    this.element.remove();
  }
}
