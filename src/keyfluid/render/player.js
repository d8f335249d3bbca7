"use strict";
(() => {
  const root = document.getElementById("player");
  if (!root) return;
  const data = JSON.parse(document.getElementById("player-data").textContent);
  const find = (selector) => root.querySelector(selector);
  const scrub = find('[data-do="scrub"]');
  const label = find('[data-show="frame"]');
  const playButton = find('[data-do="play"]');
  const speed = find('[data-do="speed"]');
  const opacity = find('[data-do="opacity"]');
  const playIcon = playButton.querySelector("path").getAttribute("d");
  const pauseIcon = "M5 3v10M11 3v10";
  const colours = { missing: [84, 160, 255], extra: [255, 150, 60], other: [226, 104, 214], paper: [16, 20, 27] };
  const endPause = 700;

  const picture = (text) => {
    const image = new Image();
    image.src = "data:image/webp;base64," + text;
    return image;
  };
  const films = data.films.map((film, index) => {
    const canvas = find(`canvas[data-film="${index}"]`);
    return {
      canvas,
      context: canvas.getContext("2d", { willReadFrequently: true }),
      frames: film.frames,
      pictures: film.pictures.map(picture),
      targets: film.targets.map(([frame, text]) => ({ frame, image: picture(text) })),
      empty: film.empty === null ? null : picture(film.empty),
    };
  });
  const stops = [...new Set(films.flatMap((film) => film.frames))].sort((a, b) => a - b);

  let view = "film";
  let place = Number(scrub.value);
  let playing = false;
  let began = 0;

  const lastUpTo = (values, limit) => {
    let found = 0;
    for (let k = 0; k < values.length && values[k] <= limit; k += 1) found = k;
    return found;
  };
  // The target of this frame; where nothing but the fluid moves, else the next one to come.
  const targetAt = (film, frame) =>
    film.targets.find((key) => key.frame === frame) ||
    (data.steady ? film.targets.find((key) => key.frame > frame) : undefined);

  const pixels = (film, image) => {
    const { width, height } = film.canvas;
    film.context.globalAlpha = 1;
    film.context.drawImage(image, 0, 0, width, height);
    return film.context.getImageData(0, 0, width, height).data;
  };
  const drawDifference = (film, image, target) => {
    const empty = pixels(film, film.empty);
    const wanted = pixels(film, target);
    const there = pixels(film, image);
    const { width, height } = film.canvas;
    const result = film.context.createImageData(width, height);
    const out = result.data;
    const far = (a, b, i) => Math.hypot(a[i] - b[i], a[i + 1] - b[i + 1], a[i + 2] - b[i + 2]);
    for (let i = 0; i < out.length; i += 4) {
      const apart = far(there, wanted, i);
      const balance = apart > 0 ? (far(there, empty, i) - far(wanted, empty, i)) / apart : 0;
      const side = balance > 0 ? colours.extra : colours.missing;
      const pure = Math.min(1, Math.abs(balance));
      const strength = Math.min(1, Math.max(0, apart - 14) / 200);
      for (let c = 0; c < 3; c += 1) {
        const ink = pure * side[c] + (1 - pure) * colours.other[c];
        const ground = 0.75 * colours.paper[c] + 0.25 * wanted[i + c];
        out[i + c] = strength * ink + (1 - strength) * ground;
      }
      out[i + 3] = 255;
    }
    film.context.putImageData(result, 0, 0);
  };

  const draw = (film) => {
    const frame = stops[place];
    const image = film.pictures[lastUpTo(film.frames, frame)];
    const target = view === "film" ? undefined : targetAt(film, frame);
    const needed = target ? [image, target.image] : [image];
    if (view === "difference" && target) needed.push(film.empty);
    const waiting = needed.find((one) => !one.complete);
    if (waiting) {
      waiting.addEventListener("load", () => draw(film), { once: true });
      return;
    }
    if (view === "difference" && target) {
      drawDifference(film, image, target.image);
      return;
    }
    const { width, height } = film.canvas;
    film.context.globalAlpha = 1;
    film.context.drawImage(image, 0, 0, width, height);
    if (target) {
      film.context.globalAlpha = Number(opacity.value) / 100;
      film.context.drawImage(target.image, 0, 0, width, height);
      film.context.globalAlpha = 1;
    }
  };

  const words = (frame) => {
    const parts = [`Frame ${frame} of ${data.last}`, `${(frame / data.fps).toFixed(2)} s`];
    if (films.some((film) => film.targets.some((key) => key.frame === frame))) parts.push("keyframe");
    if (view !== "film") {
      const target = films.map((film) => targetAt(film, frame)).find(Boolean);
      if (!target) parts.push("no target here");
      else if (target.frame !== frame) parts.push(`target of frame ${target.frame}`);
    }
    return parts.join(" · ");
  };
  const show = () => {
    scrub.value = String(place);
    label.textContent = words(stops[place]);
    scrub.setAttribute("aria-valuetext", label.textContent);
    films.forEach(draw);
  };
  const go = (to) => {
    place = Math.min(stops.length - 1, Math.max(0, to));
    show();
  };

  const tick = (now) => {
    if (!playing) return;
    const rate = data.fps * Number(speed.value);
    const length = ((data.last + 1 - stops[0]) / rate) * 1000;
    let passed = now - began;
    if (passed > length + endPause) {
      began = now;
      passed = 0;
    }
    const next = lastUpTo(stops, stops[0] + (Math.min(passed, length) * rate) / 1000);
    if (next !== place) go(next);
    requestAnimationFrame(tick);
  };
  const setPlaying = (on) => {
    playing = on;
    playButton.querySelector("path").setAttribute("d", on ? pauseIcon : playIcon);
    playButton.setAttribute("aria-pressed", String(on));
    if (!on) return;
    if (place === stops.length - 1) go(0);
    began = performance.now() - ((stops[place] - stops[0]) / (data.fps * Number(speed.value))) * 1000;
    requestAnimationFrame(tick);
  };
  const step = (by) => {
    setPlaying(false);
    go(place + by);
  };

  playButton.addEventListener("click", () => setPlaying(!playing));
  find('[data-do="back"]').addEventListener("click", () => step(-1));
  find('[data-do="on"]').addEventListener("click", () => step(1));
  scrub.addEventListener("input", () => {
    setPlaying(false);
    go(Number(scrub.value));
  });
  speed.addEventListener("change", () => setPlaying(playing));
  if (opacity) opacity.addEventListener("input", show);
  root.querySelectorAll('input[name="view"]').forEach((choice) =>
    choice.addEventListener("change", () => {
      view = choice.value;
      root.querySelectorAll("[data-for]").forEach((part) => {
        part.hidden = part.dataset.for !== view;
      });
      show();
    }),
  );
  root.querySelectorAll("[data-jump]").forEach((button) =>
    button.addEventListener("click", () => {
      setPlaying(false);
      go(lastUpTo(stops, Number(button.dataset.jump)));
    }),
  );
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const own = event.key === " " ? 'button, select, summary, a, input[type="radio"]' : "input, select";
    if (event.target instanceof Element && event.target.closest(own)) return;
    const keys = { " ": () => setPlaying(!playing), ArrowLeft: () => step(-1), ArrowRight: () => step(1) };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  go(place);
})();
