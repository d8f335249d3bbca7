// A run in words and numbers: the verdict, how well each keyframe is met, every number of result.json with its meaning.
import { html, nothing } from "../vendor/lit-html/lit-html.js";

const STATUS = { finished: "good", running: "warn", stopped: "warn", interrupted: "warn", damaged: "bad" };

/** The words for a state, in its colour. */
export const statusOf = ({ status, met }) => html`<span class=${status === "finished" && met === false ? "warn" : STATUS[status] ?? "quiet"} data-id="status">${status}${
  status === "finished" && met === false ? ", not met" : ""}</span>`;

/** Size and method in a line. */
export function about({ line, fluid, cells, fps, last }) {
  const amount = line.status === "finished" ? `${last} frames` : `${line.frames_done} of ${last + 1} frames`;
  return `${fluid} · ${line.method} · ${cells.join(" × ")} cells · ${amount} at ${fps} per second`;
}

const number = (value, digits = 3) => (value === null || value === undefined ? "–" : value.toFixed(digits));

/** Tables and lists for a panel; go(frame) shows a frame. */
export function facts(info, go) {
  const scores = info.result?.keyframes ?? [];
  const several = info.fields.length > 1;
  const strays = scores.some((key) => key.stray != null);
  return html`
    ${info.words.length ? html`<section class="words">${info.words.map((sentence, place) => html`<p class=${
      place ? "quiet" : info.result.met === false ? "warn" : "good"}>${sentence}</p>`)}</section>` : nothing}
    ${info.tiles.length ? html`<dl class="tiles">${info.tiles.map(({ name, text, remark, meaning }) => html`<div title=${meaning}>
      <dt>${name}</dt><dd><b class="number">${text}</b><small>${remark}</small></dd></div>`)}</dl>` : nothing}
    ${scores.length ? html`<section><h2>Keyframes</h2><div class="scroll"><table class="number">
      <thead><tr><th>Frame</th>${several ? html`<th>Field</th>` : nothing}
        <th title="Distance to the target over the target's size; 0 is perfect">Error</th>
        <th title="The least error that any rearrangement of the smoke can have">Least</th>
        <th title="Shared over joint area; 1 is perfect">Overlap</th><th title="Smoke over what the target holds">Amount</th>
        ${strays ? html`<th title="Smoke farther than 4 cells from the target, over all smoke">Stray</th>` : nothing}</tr></thead>
      <tbody>${scores.slice(0, 60).map((key) => html`<tr><td><button class="plain" data-id=${`score-${key.frame}`}
        @click=${() => go(key.frame)}>${key.frame}</button></td>${several ? html`<td>${key.field}</td>` : nothing}
        <td>${number(key.relative_error)}</td><td>${number(key.bound)}</td><td>${number(key.iou)}</td>
        <td>${number(100 * key.mass_ratio, 0)} %</td>${
          strays ? html`<td>${key.stray == null ? "–" : `${number(100 * key.stray, 1)} %`}</td>` : nothing}</tr>`)}</tbody></table></div></section>` : nothing}
    ${info.notes.length || info.warnings.length ? html`<section><h2>Notes</h2><ul class="notes">${[...info.notes, ...info.warnings].map((note) => html`
      <li>${note}</li>`)}</ul></section>` : nothing}`;
}

/** Every number, in words, with what it means. */
export const allNumbers = (info) => (info.numbers.length ? html`<details><summary>All numbers, and what they mean</summary>
  <dl class="numbers">${info.numbers.map(({ name, text, meaning }) => html`<dt>${name}</dt><dd><b class="number">${text}</b>${
    meaning ? html`<small>${meaning}</small>` : nothing}</dd>`)}</dl></details>` : nothing);
