// One run's film on a canvas, 2D or 3D: fetches what a frame needs and draws it; no controls of its own.
import { get } from "../api.js";
import { Camera } from "./camera.js";
import { drawVectors, Vectors } from "./flow_lines.js";
import { content2d, content3d, targetFrame } from "./frame_content.js";
import { FramesCache } from "./frames_cache.js";
import { drawEdge, edgeOf } from "./target_edge.js";
import { View2d } from "./view2d.js";
import { Volume } from "./volume.js";

const AHEAD = 24;
const [DRAFT_SIDE, MOST_SIDE] = [448, 1024];
const [DRAFT_CELLS, MOST_CELLS] = [64, 128];
const AT_EASE = 200;

export class Screen {
  #wanted = null;
  #loop = null;
  #rest = 0;
  frame = 0;
  mode = "film";
  arrows = "none";
  lines = "arrows";
  wipe = 0.5;
  blend = 0.5;
  markers = true;
  info = null;
  /** Pictures drawn, for measurements. */
  drawn = 0;

  /** camera: another screen's, to look from the same place. small: a tile among others. */
  constructor(host, app, { camera = null, small = false } = {}) {
    Object.assign(this, { app, camera, small });
    this.element = document.createElement("div");
    this.element.className = "screen waiting";
    this.canvas = document.createElement("canvas");
    this.overlay = document.createElement("canvas");
    this.overlay.className = "overlay";
    this.element.append(this.canvas, this.overlay);
    host.append(this.element);
    this.resizes = new ResizeObserver(() => this.#fit());
    this.resizes.observe(this.element);
  }

  /** Open a run; its description as GET /api/run gives it. */
  async load(path) {
    this.#close();
    this.path = path;
    this.#take(await get("run", { path }));
    this.cache = new FramesCache(path, this.info.line.status === "finished" ? this.info.revision : undefined, this.info.dim === 2);
    if (this.info.dim === 3) this.#open3d();
    else this.view = new View2d(this.canvas);
    this.element.dataset.dim = this.info.dim;
    this.#fit();
    return this.info;
  }

  /** Ask again for the description of a run that is being computed. */
  async refresh() {
    const before = this.info;
    this.#take(await get("run", { path: this.path }));
    if (before && this.info.frames.length < before.frames.length) this.cache.clear();
    if (this.info.line.status === "finished") this.cache.revision = this.info.revision;
    return this.info;
  }

  #take(info) {
    this.info = info;
    info.there = new Set(info.frames);
  }

  #open3d() {
    this.camera ??= new Camera(this.info.view, this.info.size);
    this.volume = new Volume(this.canvas, this.camera);
    this.unfollow = this.camera.on(() => this.#drawOverlay());
    this.camera.follow(this.element);
  }

  /** The frame that is there and comes closest before this one. */
  nearest(frame) {
    const { frames, there } = this.info;
    if (there.has(frame) || !frames.length) return frame;
    return frames.findLast((one) => one <= frame) ?? frames[0];
  }

  /** Show a frame; while others come soon, in less detail. Frames that were asked for meanwhile are left out. */
  show(frame, moving = false) {
    this.asked = this.nearest(frame);
    this.#wanted = { frame: this.asked, moving };
    this.#loop ??= this.#run().finally(() => { this.#loop = null; });
    return this.#loop;
  }

  /** The same frame again, after a change of mode. */
  redraw(moving = false) { return this.show(this.asked ?? this.frame, moving); }

  async #run() {
    while (this.#wanted) {
      const { frame, moving } = this.#wanted;
      this.#wanted = null;
      if (!this.info.there.has(frame)) return;
      await this.app.try(() => this.#draw(frame, moving));
      clearTimeout(this.#rest);
      if (moving) this.#rest = setTimeout(() => this.redraw(), AT_EASE);
    }
  }

  async #draw(frame, moving) {
    const { info, cache } = this;
    const flat = info.dim === 2;
    const size = flat ? undefined : moving || this.small ? DRAFT_CELLS : MOST_CELLS;
    const finer = Math.max(...info.cells) > DRAFT_CELLS;
    const cells = flat || !finer ? undefined : size;
    const over = this.mode === "film" ? null : targetFrame(info, frame);
    const surface = info.has.surface && (flat || this.mode === "film" || this.mode === "outline" || over === null);
    const asked = {
      density: cache.get("density", frame, cells),
      obstacle: info.obstacles ? cache.get("obstacle", info.moving_obstacles ? frame : 0, cells) : null,
      target: over === null ? null : cache.get("target", over, cells),
      surface: surface ? cache.get("surface", frame, cells) : null,
      markers: info.has.markers && !flat && this.markers ? cache.get("markers", frame) : null,
      vectors: this.arrows === "none" ? null : cache.get(this.arrows, frame).catch(() => null),
    };
    this.#fetchAhead(frame, cells);
    const got = Object.fromEntries(await Promise.all(Object.entries(asked).map(async ([name, value]) => [name, await value])));
    if (!this.view && !this.volume) return;
    this.frame = frame;
    this.over = over;
    this.vectors = got.vectors && new Vectors(got.vectors, this.arrows, info.cells, info.spacing);
    if (flat) {
      const box = this.canvas.getBoundingClientRect();
      const sharp = Math.max(box.width, box.height) * devicePixelRatio;
      const side = Math.min(Math.max(sharp, 64), moving ? DRAFT_SIDE : MOST_SIDE);
      this.view.draw({ ...content2d(info, got, this.mode), wipe: this.wipe, blend: this.blend }, side);
    } else {
      const key = `${frame} ${cells ?? 0} ${over ?? ""}`;
      await this.volume.show({ ...content3d(info, got, this.mode, this.blend, key), wipe: this.wipe });
    }
    const edged = !flat && this.mode === "outline" && got.target;
    this.edge = edged ? edgeOf(info, got.target) : null;
    this.#drawOverlay();
    this.drawn += 1;
    this.element.classList.remove("waiting");
    this.onshown?.(frame);
  }

  #fetchAhead(frame, cells) {
    const { frames } = this.info;
    const place = frames.indexOf(frame);
    const next = [...frames.slice(place + 1, place + AHEAD), ...frames.slice(Math.max(0, place - 4), place).reverse()];
    this.cache.ahead("density", this.small ? next.slice(0, 6) : next, cells);
  }

  /** Arrows or streamlines, and in 3D the edges of the domain. */
  #drawOverlay() {
    if (!this.info || !this.overlay.width) return;
    const context = this.overlay.getContext("2d");
    const { width, height } = this.overlay;
    context.clearRect(0, 0, width, height);
    const style = getComputedStyle(document.documentElement);
    const [sx, sy] = this.info.size;
    const project = this.volume ? this.camera.projector(width, height) : ([x, y]) => [x / sx * width, (1 - y / sy) * height];
    if (this.volume) this.#drawBox(context, project, style.getPropertyValue("--edge"));
    if (this.volume && this.edge) drawEdge(context, this.edge, project, this.camera, style.getPropertyValue("--warn"));
    if (this.vectors && this.arrows !== "none") drawVectors(context, this.vectors, project, this.lines, style.getPropertyValue("--accent"));
  }

  #drawBox(context, project, colour) {
    const corners = Array.from({ length: 8 }, (_, i) => project(this.info.size.map((side, axis) => (i >> axis & 1) * side)));
    context.strokeStyle = colour;
    context.globalAlpha = 0.35;
    context.lineWidth = 1;
    context.beginPath();
    for (let i = 0; i < 8; i++) {
      for (const bit of [1, 2, 4]) {
        if (i & bit) continue;
        context.moveTo(...corners[i]);
        context.lineTo(...corners[i | bit]);
      }
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  /** As large as its place allows; a 2D film keeps its shape. */
  #fit() {
    const [wide, high] = [this.element.clientWidth, this.element.clientHeight];
    if (!this.info || !wide || !high) return;
    const [nx, ny] = this.info.dim === 2 ? this.info.cells : [wide, high];
    const scale = Math.min(wide / nx, high / ny);
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.style.width = `${nx * scale}px`;
      canvas.style.height = `${ny * scale}px`;
    }
    const sharp = Math.min(devicePixelRatio, 2);
    this.overlay.width = Math.round(nx * scale * sharp);
    this.overlay.height = Math.round(ny * scale * sharp);
    if (this.info.dim === 3) {
      const soft = Math.min(1, Math.sqrt(900_000 / (wide * high)));
      this.canvas.width = Math.round(wide * soft);
      this.canvas.height = Math.round(high * soft);
      this.volume?.request();
    }
    this.#drawOverlay();
  }

  #close() {
    clearTimeout(this.#rest);
    this.#wanted = null;
    this.cache?.leave();
    this.volume?.leave();
    this.unfollow?.();
    this.view = this.volume = this.vectors = null;
  }

  leave() {
    this.#close();
    this.resizes.disconnect();
    this.element.remove();
  }
}
