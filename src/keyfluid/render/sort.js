"use strict";
(() => {
  const sheet = document.getElementById("sheet");
  const choice = document.getElementById("sort");
  if (!sheet || !choice) return;
  const tiles = [...sheet.querySelectorAll(".tile")];
  const score = (tile, name) => (tile.dataset[name] === undefined ? Infinity : Number(tile.dataset[name]));
  const orders = {
    value: null,
    error: (a, b) => score(a, "error") - score(b, "error"),
    overlap: (a, b) => score(b, "overlap") - score(a, "overlap"),
  };
  choice.addEventListener("change", () => {
    const order = orders[choice.value];
    sheet.classList.toggle("grid", order === null);
    tiles.forEach((tile) => tile.style.removeProperty("order"));
    if (order !== null) {
      [...tiles].sort(order).forEach((tile, rank) => tile.style.setProperty("order", String(rank)));
    }
  });
})();
