// Small questions: a name, or whether to do something that can't be undone here.
import { html, render } from "../vendor/lit-html/lit-html.js";

function ask(content, first) {
  return new Promise((resolve) => {
    const dialog = document.createElement("dialog");
    dialog.className = "ask";
    render(content(dialog), dialog);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" ? dialog.querySelector("input")?.value ?? true : null);
    });
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector(first)?.select?.();
  });
}

const buttons = (dialog, words) => html`<div class="row end">
  <button type="button" data-do="cancel" @click=${() => dialog.close("")}>Cancel</button>
  <button class="main" data-do="yes" type="submit">${words}</button></div>`;

const form = (dialog, inner) => html`<form @submit=${(event) => { event.preventDefault(); dialog.close("yes"); }}>
  ${inner}</form>`;

/** A name; null if the person thinks better of it. */
export const askName = (title, value, words) => ask((dialog) => form(dialog, html`<h2>${title}</h2>
  <label>Name <input id="ask-name" .value=${value} maxlength="80" required></label>${buttons(dialog, words)}`), "input");

/** True, or null. */
export const askYes = (title, text, words) => ask((dialog) => form(dialog, html`<h2>${title}</h2>
  <p>${text}</p>${buttons(dialog, words)}`), "button");
