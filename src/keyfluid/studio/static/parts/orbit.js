// The stage of a 3D scene from any side: its bodies as one volume, ray-marched in WebGL2.
import { rgb } from "./stage_body.js";

const SIDE = 48;
const SAMPLES = { still: 96, moving: 40 };

const VERTEX = `#version 300 es
in vec2 corner; out vec2 place;
void main() { place = corner; gl_Position = vec4(corner, 0.0, 1.0); }`;

const FRAGMENT = `#version 300 es
precision highp float; precision highp sampler3D;
in vec2 place; out vec4 colour;
uniform sampler3D volume; uniform mat3 turn; uniform vec3 box; uniform float aspect, distance_; uniform int samples;
uniform vec3 ground, line;
void main() {
  vec3 eye = turn * vec3(0.0, 0.0, distance_), ray = normalize(turn * vec3(place.x * aspect * 0.5, place.y * 0.5, -1.6));
  vec3 low = (-box - eye) / ray, high = (box - eye) / ray, first = min(low, high), last = max(low, high);
  float near = max(max(first.x, first.y), max(first.z, 0.0)), far = min(last.x, min(last.y, last.z));
  colour = vec4(ground, 1.0);
  if (near >= far) return;
  // Edges of the box: where two faces are near, at entry and exit.
  for (int side = 0; side < 2; side++) {
    vec3 wall = abs(abs(eye + ray * (side == 0 ? far : near)) - box) / max(box.x, max(box.y, box.z));
    float second = max(min(wall.x, wall.y), min(max(wall.x, wall.y), wall.z));
    if (second < 0.006) colour.rgb = mix(colour.rgb, line, side == 0 ? 0.9 : 0.0);
  }
  float step_ = (far - near) / float(samples), seen = 1.0; vec3 sum = vec3(0.0);
  vec3 light = normalize(turn * vec3(-0.4, 0.8, 0.6));
  float jitter = fract(52.98 * fract(dot(gl_FragCoord.xy, vec2(0.0671, 0.00584))));
  for (int i = 0; i < samples; i++) {
    vec3 at = (eye + ray * (near + (float(i) + jitter) * step_)) / (2.0 * box) + 0.5;
    vec4 here = texture(volume, at);
    if (here.a < 0.004) continue;
    float toward = texture(volume, at + light * 0.03).a;
    float opacity = 1.0 - exp(-here.a * step_ * 22.0 / max(box.x, max(box.y, box.z)));
    sum += seen * opacity * here.rgb / max(here.a, 0.004) * (0.45 + 0.75 * clamp(here.a - toward + 0.35, 0.0, 1.0));
    seen *= 1.0 - opacity;
    if (seen < 0.02) break;
  }
  colour.rgb = colour.rgb * seen + sum;
}`;

export class Orbit {
  #angle = [0.6, 0.35];
  #far = 3.2;
  #wanted = false;
  #shown = "";

  constructor(host, stage) {
    this.stage = stage;
    this.element = Object.assign(document.createElement("div"), { className: "stage-view" });
    this.element.dataset.id = "view-orbit";
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("aria-label", "The scene from any side: drag or arrow keys turn it, the wheel goes nearer");
    this.element.append(this.canvas, Object.assign(document.createElement("span"), { className: "stage-label quiet", textContent: "Orbit" }));
    host.append(this.element);
    this.gl = this.canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true });
    if (!this.gl) {
      this.element.append(Object.assign(document.createElement("p"), { className: "quiet", textContent: "This browser has no WebGL2; the three views beside it show the scene." }));
      return;
    }
    this.#prepare();
    this.canvas.addEventListener("pointerdown", (event) => this.canvas.setPointerCapture(event.pointerId));
    this.canvas.addEventListener("pointermove", (event) => event.buttons && this.#turn(event.movementX * 0.008, event.movementY * 0.008));
    this.canvas.addEventListener("pointerup", () => this.draw());
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.#far = Math.max(1.6, Math.min(8, this.#far * Math.exp(event.deltaY * 0.001)));
      this.draw(true);
    }, { passive: false });
    this.canvas.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      this.#turn(...by);
    });
    this.resizer = new ResizeObserver(() => this.draw());
    this.resizer.observe(this.element);
  }

  #turn(across, up) {
    this.#angle = [this.#angle[0] - across, Math.max(-1.5, Math.min(1.5, this.#angle[1] + up))];
    this.draw(true);
  }

  #prepare() {
    const { gl } = this, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error("the orbit view can't be drawn by this browser");
    gl.useProgram(program);
    this.place = (name) => gl.getUniformLocation(program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 3, -1, -1, 3]), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.bindAttribLocation(program, 0, "corner");
    gl.vertexAttribPointer(gl.getAttribLocation(program, "corner"), 2, gl.FLOAT, false, 0, 0);
    gl.bindTexture(gl.TEXTURE_3D, gl.createTexture());
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T, gl.TEXTURE_WRAP_R]) gl.texParameteri(gl.TEXTURE_3D, side, gl.CLAMP_TO_EDGE);
    for (const size of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_3D, size, gl.LINEAR);
  }

  /** moving: fewer samples, and all of them once it rests. */
  draw(moving = false) {
    if (!this.gl) return;
    clearTimeout(this.rest);
    if (moving) this.rest = setTimeout(() => this.draw(), 250);
    this.samples = moving ? SAMPLES.moving : SAMPLES.still;
    if (this.#wanted) return;
    this.#wanted = true;
    requestAnimationFrame(() => {
      this.#wanted = false;
      this.#draw();
    });
  }

  #draw() {
    const { gl, canvas, stage } = this, { width, height } = this.element.getBoundingClientRect();
    if (width < 2 || height < 2) return;
    canvas.width = Math.round(width);
    canvas.height = Math.round(height);
    gl.viewport(0, 0, canvas.width, canvas.height);
    this.#fill();
    const longest = Math.max(...stage.size), box = stage.size.map((side) => side / longest);
    const [a, b] = this.#angle, [ca, sa, cb, sb] = [Math.cos(a), Math.sin(a), Math.cos(b), Math.sin(b)];
    // Columns: right, up and towards the viewer, for a scene whose up is y; another up turns them.
    let columns = [[ca, 0, -sa], [-sa * sb, cb, -ca * sb], [sa * cb, sb, ca * cb]];
    if (stage.up === "z") columns = columns.map(([x, y, z]) => [x, -z, y]);
    gl.uniformMatrix3fv(this.place("turn"), false, columns.flat());
    gl.uniform3fv(this.place("box"), box);
    gl.uniform1f(this.place("aspect"), canvas.width / canvas.height);
    gl.uniform1f(this.place("distance_"), this.#far * 1.25);
    gl.uniform1i(this.place("samples"), this.samples);
    for (const [name, colour] of [["ground", "--paper"], ["line", "--edge"]]) {
      gl.uniform3fv(this.place(name), rgb(stage.styles.getPropertyValue(colour).trim()).map((part) => part / 255));
    }
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /** All bodies as one volume, colour times opacity; made again only when something has changed. */
  #fill() {
    const { gl, stage } = this, bodies = [...stage.bodies.values()].filter((body) => body.arrays[""]);
    const longest = Math.max(...stage.size), cells = stage.size.map((side) => Math.max(1, Math.round((SIDE * side) / longest)));
    const key = (body) => `${body.id} ${body.present(stage.frame)} ${body.id === stage.selected}`;
    const values = bodies.map((body) => body.arrays[""].values);
    const shown = JSON.stringify([bodies.map(key), cells]);
    if (shown === this.#shown && values.every((one, i) => one === this.values[i])) return;
    this.#shown = shown;
    this.values = values;
    const volume = new Uint8Array(4 * cells[0] * cells[1] * cells[2]);
    for (const body of bodies) this.#add(volume, cells, body);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage3D(gl.TEXTURE_3D, 0, gl.RGBA8, ...cells, 0, gl.RGBA, gl.UNSIGNED_BYTE, volume);
  }

  #add(volume, cells, body) {
    const { stage } = this, { values, shape } = body.arrays[""], colour = rgb(body.colour(stage.styles));
    const weight = body.present(stage.frame) ? 1 : body.id === stage.selected ? 0.6 : stage.onion ? 0.12 : 0;
    if (!weight) return;
    const step = shape.map((count, i) => count / cells[i]);
    let at = 0;
    for (let z = 0; z < cells[2]; z++) {
      const k = Math.min(shape[2] - 1, Math.floor((z + 0.5) * step[2]));
      for (let y = 0; y < cells[1]; y++) {
        const j = Math.min(shape[1] - 1, Math.floor((y + 0.5) * step[1]));
        for (let x = 0; x < cells[0]; x++, at += 4) {
          const i = Math.min(shape[0] - 1, Math.floor((x + 0.5) * step[0]));
          const value = (weight * values[i + shape[0] * (j + shape[1] * k)]) / 255;
          if (value <= 0) continue;
          for (let part = 0; part < 3; part++) volume[at + part] = Math.min(255, volume[at + part] + value * colour[part]);
          volume[at + 3] = Math.min(255, volume[at + 3] + 255 * value);
        }
      }
    }
  }

  leave() {
    clearTimeout(this.rest);
    this.resizer?.disconnect();
    this.gl?.getExtension("WEBGL_lose_context")?.loseContext();
  }
}
