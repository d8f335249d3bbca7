// A text typed on the stage: it is drawn where it will stand, and the field is below it.

const BELOW = 70;

/** Put an input at a point (pixels) of a view. input: called as the text grows; done: on Enter; cancel: on Escape. */
export function typeInPlace(view, [x, y], text, { input, done, cancel }) {
  const field = document.createElement("textarea");
  field.className = "stage-type";
  field.dataset.id = "type-in-place";
  field.setAttribute("aria-label", "Text; Enter to keep it, Shift and Enter for another line, Escape to give it up");
  field.placeholder = "Type, then Enter";
  field.rows = 1;
  field.value = text;
  view.element.append(field);
  field.style.left = `${Math.max(0, x - field.offsetWidth / 2)}px`;
  field.style.top = `${Math.max(0, Math.min(view.element.clientHeight - field.offsetHeight - 4, y + BELOW))}px`;
  let open = true;
  const close = (then) => {
    if (!open) return;
    open = false;
    field.remove();
    then();
    view.canvas.focus({ preventScroll: true });
  };
  field.addEventListener("input", () => {
    field.rows = field.value.split("\n").length;
    input(field.value.trim());
  });
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") close(cancel);
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      close(() => done(field.value.trim()));
    }
  });
  field.addEventListener("blur", () => close(() => done(field.value.trim())));
  field.focus();
  field.select();
}
