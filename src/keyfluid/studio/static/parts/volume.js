// Smoke in three dimensions, by rays through a 3D texture (WebGL 2). While something moves, a small picture with long
// steps; once it rests, the whole picture, in bands, so that the page stays quick even without a graphics card.
import { BACKDROP, SOLID } from "./colours.js";
import { makeProgram, makeTarget, makeTexture2, makeTexture3 } from "./gl.js";
import { normalsOf, volumeContent } from "./volume_content.js";
import { MARCH, MESH, MESH_COLOUR, POINT_COLOUR, POINTS, QUAD } from "./volume_shaders.js";

const AT_EASE = 220; // milliseconds without a change until the whole picture is drawn
const QUICK = 70; // milliseconds that a moving picture and a band may take
const [COARSE, FINE] = [1.5, 0.6]; // steps in cells

export class Volume {
  #sharpness = 0.4;
  #targets = {};
  #band = null;
  #timer = 0;
  #asked = 0;
  #waiting = [];
  #kept = new Map();
  /** Counts pictures, for measurements: {quick, whole, seconds}. */
  drawn = { quick: 0, whole: 0, seconds: 0 };

  constructor(canvas, camera) {
    this.canvas = canvas;
    this.camera = camera;
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("3D films need WebGL 2, which this browser does not offer");
    this.gl = gl;
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.programs = {
      march: makeProgram(gl, QUAD, MARCH), points: makeProgram(gl, POINTS, POINT_COLOUR), mesh: makeProgram(gl, MESH, MESH_COLOUR),
    };
    this.nothing = makeTexture3(gl, new Uint8Array(4), [1, 1, 1], null);
    this.nowhere = makeTexture2(gl, new Uint8Array([255]), [1, 1], null);
    this.empty = gl.createVertexArray();
    this.unfollow = camera.on(() => this.request());
    this.pictures = [];
  }

  /** shown: {key, cells, fields, solid, view, spacing, size, floor, markers?, mesh?, target?, wipe?}; a key names what
      was computed of it, so that a film computes its light once. target: fields right of `wipe` (0 to 1). */
  show(shown) {
    this.shown = shown;
    const both = [shown, ...(shown.target ? [{ ...shown, ...shown.target }] : [])];
    both.forEach((one, place) => {
      this.pictures[place] ??= {};
      this.#upload(this.pictures[place], this.#content(one));
    });
    this.pictures.length = both.length;
    this.#load(shown);
    return this.request();
  }

  /** Draw again: quickly now, wholly when nothing happens for a while. Resolves once it is drawn quickly. */
  request() {
    this.#band = null;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#start(), AT_EASE);
    cancelAnimationFrame(this.#asked);
    const soon = new Promise((resolve) => this.#waiting.push(resolve));
    this.#asked = requestAnimationFrame(() => {
      this.#asked = 0;
      this.quick();
      for (const resolve of this.#waiting.splice(0)) resolve();
    });
    return soon;
  }

  /** The picture while something moves; measured, so that the next one takes the time it may. */
  quick() {
    if (!this.shown || !this.canvas.width) return;
    const start = performance.now();
    const target = this.#target("quick", this.#sharpness);
    this.#draw(target, COARSE, 0, target.height);
    this.#things(target);
    this.#copy(target);
    this.#wait();
    const took = performance.now() - start;
    this.drawn.quick += 1;
    this.drawn.seconds += took / 1000;
    if (this.drawn.quick === 1) return; // with it, the driver compiles
    this.#sharpness = Math.min(Math.max(this.#sharpness * Math.sqrt(QUICK / Math.max(took, 1)) ** 0.5, 0.25), 1);
  }

  #start() {
    if (!this.shown || !this.canvas.width) return;
    const target = this.#target("whole", 1);
    this.#band = { target, from: 0, rows: Math.ceil(target.height / 16) };
    this.#asked = requestAnimationFrame(() => this.#refine());
  }

  #refine() {
    this.#asked = 0;
    const band = this.#band;
    if (!band) return;
    const start = performance.now();
    const rows = Math.min(band.rows, band.target.height - band.from);
    this.#draw(band.target, FINE, band.from, rows);
    if (!this.surface.count && !this.points.groups.length) this.#copy(band.target, band.from, rows);
    this.#wait();
    band.from += rows;
    band.rows = Math.max(4, Math.min(4 * rows, Math.round(rows * QUICK / Math.max(performance.now() - start, 2))));
    if (band.from < band.target.height) {
      this.#asked = requestAnimationFrame(() => this.#refine());
      return;
    }
    this.#things(band.target);
    this.#copy(band.target);
    this.#band = null;
    this.drawn.whole += 1;
  }

  #content(shown) {
    const key = shown.key;
    let found = key && this.#kept.get(key);
    if (!found) found = volumeContent(shown);
    if (key) {
      this.#kept.delete(key);
      this.#kept.set(key, found);
      let bytes = 0;
      for (const one of this.#kept.values()) bytes += one.bytes.length;
      for (const [old, one] of this.#kept) {
        if (bytes < 64 << 20 || old === key) break;
        bytes -= one.bytes.length;
        this.#kept.delete(old);
      }
    }
    return found;
  }

  #upload(picture, content) {
    picture.content = content;
    picture.volume = makeTexture3(this.gl, content.bytes, content.cells, picture.volume);
    if (content.albedo) picture.albedo = makeTexture3(this.gl, content.albedo, content.cells, picture.albedo);
    if (content.floor) picture.floor = makeTexture2(this.gl, content.floor.bytes, content.floor.counts, picture.floor);
  }

  /** Markers and a surface as buffers. */
  #load({ markers, mesh }) {
    const { gl } = this;
    this.points ??= { array: gl.createVertexArray(), buffer: gl.createBuffer() };
    this.points.groups = markers?.groups ?? [];
    if (markers) {
      gl.bindVertexArray(this.points.array);
      this.#attribute(0, this.points.buffer, markers.places);
    }
    this.surface ??= { array: gl.createVertexArray(), parts: [0, 1, 2].map(() => gl.createBuffer()) };
    this.surface.count = mesh?.faces.length ?? 0;
    if (mesh) {
      gl.bindVertexArray(this.surface.array);
      this.#attribute(0, this.surface.parts[0], mesh.vertices);
      this.#attribute(1, this.surface.parts[1], normalsOf(mesh.vertices, mesh.faces));
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.surface.parts[2]);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, mesh.faces, gl.DYNAMIC_DRAW);
      this.surface.colour = mesh.colour;
    }
    gl.bindVertexArray(null);
  }

  #attribute(place, buffer, values) {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 0, 0);
  }

  /** Rays of some rows of pixels. */
  #draw(target, step, from, rows) {
    const { gl, shown } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, target.frame);
    gl.viewport(0, 0, target.width, target.height);
    gl.enable(gl.SCISSOR_TEST);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.ALWAYS);
    const column = this.pictures.length > 1 ? Math.round(shown.wipe * target.width) : target.width;
    this.pictures.forEach((picture, place) => {
      const [left, right] = place ? [column, target.width] : [0, column];
      if (right <= left) return;
      gl.scissor(left, from, right - left, rows);
      this.#march(target, picture, step);
    });
    gl.disable(gl.SCISSOR_TEST);
    gl.depthFunc(gl.LESS);
  }

  #march(target, { content, volume, albedo, floor }, step) {
    const { gl, camera, shown } = this;
    const { view, size, spacing } = shown;
    const { right, top, forward } = camera.basis;
    const aspect = target.width / target.height;
    const slope = camera.slope(aspect);
    const matters = content.solids || !(shown.markers || shown.mesh);
    const box = (matters && content.box) || [[2, 2, 2], [2, 2, 2]];
    const toEye = forward.reduce((sum, x, axis) => sum + x * view.light[axis], 0);
    const g = view.forward;
    const cell = spacing * shown.whole[0] / content.cells[0];
    this.#common("march", {
      volume: [volume ?? this.nothing, 0], albedo: [content.albedo ? albedo : this.nothing, 1], floorLight: [floor ?? this.nowhere, 2, true],
      eye: camera.position, right, top, forward, colour: content.colour,
      lower: box[0].map((x, axis) => x * size[axis]), upper: box[1].map((x, axis) => x * size[axis]),
      wallTop: BACKDROP.top, wallBottom: BACKDROP.bottom, solidColour: SOLID,
      slope: [slope * aspect, slope], pixel: 2 * slope / target.height, extinction: shown.markers || shown.mesh ? 0 : view.extinction, stride: step * cell, cell,
      phase: (1 - g * g) / (1 + g * g - 2 * g * toEye) ** 1.5,
      solids: Number(content.solids), coloured: Number(Boolean(content.albedo)), standing: Number(Boolean(content.floor)),
      matrix: camera.matrix(aspect),
    });
    gl.bindVertexArray(this.empty);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /** Markers and the surface, in front of or behind obstacles as they are. */
  #things(target) {
    const { gl, camera, shown } = this;
    const matrix = camera.matrix(target.width / target.height);
    const picture = this.pictures[0];
    const volume = [picture.volume, 0];
    gl.bindFramebuffer(gl.FRAMEBUFFER, target.frame);
    gl.viewport(0, 0, target.width, target.height);
    if (this.surface.count) {
      const cell = shown.spacing * shown.whole[0] / picture.content.cells[0];
      this.#common("mesh", { volume, matrix, eye: camera.position, tint: this.surface.colour, cell });
      gl.bindVertexArray(this.surface.array);
      gl.drawElements(gl.TRIANGLES, this.surface.count, gl.UNSIGNED_INT, 0);
    }
    let first = 0;
    for (const { count, colour, radius } of this.points.groups) {
      const slope = camera.slope(target.width / target.height);
      this.#common("points", { volume, matrix, tint: colour, radius: radius * target.height / slope });
      gl.bindVertexArray(this.points.array);
      gl.drawArrays(gl.POINTS, first, count);
      first += count;
    }
    gl.bindVertexArray(null);
  }

  #common(name, values) {
    const { gl, shown, camera } = this;
    const { program, places } = this.programs[name];
    gl.useProgram(program);
    const { view, size } = shown;
    const all = { size, keyColour: view.light_colour, skyColour: view.sky_colour, towards: view.light, up: camera.up, ...values };
    for (const [key, value] of Object.entries(all)) {
      const place = places[key];
      if (place === undefined) continue;
      if (Array.isArray(value) && value[0] instanceof WebGLTexture) {
        gl.activeTexture(gl.TEXTURE0 + value[1]);
        gl.bindTexture(value[2] ? gl.TEXTURE_2D : gl.TEXTURE_3D, value[0]);
        gl.uniform1i(place, value[1]);
      } else if (value.length === 16) gl.uniformMatrix4fv(place, false, value);
      else if (value.length === 3) gl.uniform3fv(place, value);
      else if (value.length === 2) gl.uniform2fv(place, value);
      else gl.uniform1f(place, value);
    }
  }

  /** Rows of a target to the canvas. */
  #copy({ frame, width, height }, from = 0, rows = height) {
    const { gl, canvas } = this;
    const [low, high] = [from, from + rows].map((row) => Math.round(row * canvas.height / height));
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, frame);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
    gl.blitFramebuffer(0, from, width, from + rows, 0, low, canvas.width, high, gl.COLOR_BUFFER_BIT, gl.LINEAR);
  }

  /** Until it is drawn: what a driver takes in is not what it has done. */
  #wait() {
    this.gl.bindFramebuffer(this.gl.FRAMEBUFFER, null);
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  /** A place to draw, this sharp. */
  #target(name, sharpness) {
    const { gl, canvas } = this;
    const [width, height] = [canvas.width, canvas.height].map((side) => Math.max(8, Math.round(side * sharpness / 8) * 8));
    const old = this.#targets[name];
    if (old?.width === width && old.height === height) return old;
    const made = makeTarget(gl, width, height, old);
    this.#targets[name] = made;
    return made;
  }

  /** Give the graphics memory back. */
  leave() {
    clearTimeout(this.#timer);
    cancelAnimationFrame(this.#asked);
    this.#band = null;
    this.shown = null;
    this.unfollow();
    this.#kept.clear();
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}
