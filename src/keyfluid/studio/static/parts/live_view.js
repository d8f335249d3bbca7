// What a live run looks like: in 2D its density on a canvas, in 3D points in a box (WebGL2). Drag to orbit, wheel to zoom.

const VERTEX = `#version 300 es
layout(location = 0) in vec3 place;
uniform mat4 matrix;
uniform vec3 size;
uniform float grain;
uniform float away;
out float shade;
void main() {
  gl_Position = matrix * vec4(place * size - 0.5 * size, 1.0);
  gl_PointSize = clamp(grain / gl_Position.w, 1.0, 24.0);
  shade = clamp(2.6 - 1.6 * gl_Position.w / away, 0.3, 1.7);
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
uniform vec4 colour;
in float shade;
out vec4 light;
void main() { light = vec4(colour.rgb * colour.a * shade, 1.0); }`;
const BOX = [0, 1, 1, 3, 3, 2, 2, 0, 4, 5, 5, 7, 7, 6, 6, 4, 0, 4, 1, 5, 2, 6, 3, 7]
  .flatMap((corner) => [corner & 1, (corner >> 1) & 1, corner >> 2].map((bit) => bit * 65535));

/** `setup` once the run is known, then `draw` for each frame. */
export class LiveView {
  #context = null;
  #gl = null;
  #last = null;
  #camera = { turn: 0.5, rise: 0.25, distance: 1 };

  constructor(host) {
    this.element = document.createElement("canvas");
    this.element.className = "live-view";
    this.element.view = this;
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "img");
    this.element.setAttribute("aria-label", "the smoke now; in 3D drag or use arrow keys to turn it");
    host.append(this.element);
    this.resized = new ResizeObserver(() => this.#redraw());
    this.resized.observe(this.element);
    this.element.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) this.#turn(-event.movementX * 0.008, event.movementY * 0.008);
    });
    this.element.addEventListener("pointerdown", (event) => this.element.setPointerCapture(event.pointerId));
    this.element.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.#camera.distance = Math.min(4, Math.max(0.4, this.#camera.distance * Math.exp(event.deltaY * 0.001)));
      this.#redraw();
    }, { passive: false });
    this.element.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
      if (step && this.#gl) { event.preventDefault(); this.#turn(...step); }
    });
  }

  /** about: {dim, cells, size, fields: [{name, colour: [r, g, b]}]}. */
  setup(about) {
    this.about = about;
    const [width, height] = about.cells;
    this.element.classList.toggle("flat", about.dim === 2);
    if (about.dim === 2) {
      Object.assign(this.element, { width, height });
      this.#context = this.element.getContext("2d");
      this.image = this.#context.createImageData(width, height);
    } else {
      this.#prepare(this.element.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true }));
    }
  }

  draw(frame) {
    this.#last = frame;
    this.#redraw();
  }

  /** How many different colours the picture has, for tests. */
  colours() {
    const copy = document.createElement("canvas");
    Object.assign(copy, { width: this.element.width, height: this.element.height });
    const context = copy.getContext("2d");
    context.drawImage(this.element, 0, 0);
    return new Set(new Uint32Array(context.getImageData(0, 0, copy.width, copy.height).data.buffer)).size;
  }

  leave() {
    this.resized.disconnect();
    this.#gl?.getExtension("WEBGL_lose_context")?.loseContext();
    this.element.remove();
  }

  #turn(turn, rise) {
    this.#camera.turn += turn;
    this.#camera.rise = Math.min(1.5, Math.max(-1.5, this.#camera.rise + rise));
    this.#redraw();
  }

  #redraw() {
    if (!this.#last) return;
    if (this.#context) this.#flat(this.#last);
    else if (this.#gl) this.#points(this.#last);
  }

  #flat({ arrays }) {
    const [width, height] = this.about.cells;
    const pixels = this.image.data;
    pixels.fill(0);
    for (const { name, colour } of this.about.fields) {
      const density = arrays[`density:${name}`];
      for (let y = 0, at = 0; y < height; y++) {
        let to = 4 * width * (height - 1 - y);
        for (let x = 0; x < width; x++, at++, to += 4) {
          const share = density[at] / 255;
          for (let part = 0; part < 3; part++) pixels[to + part] = pixels[to + part] * (1 - share) + colour[part] * share;
        }
      }
    }
    for (let at = 3; at < pixels.length; at += 4) pixels[at] = 255;
    this.#context.putImageData(this.image, 0, 0);
  }

  #prepare(gl) {
    if (!gl) throw new Error("this browser has no WebGL2; open the studio in another one for 3D");
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    const place = (name) => gl.getUniformLocation(program, name);
    this.uniforms = Object.fromEntries(["matrix", "size", "colour", "grain", "away"].map((name) => [name, place(name)]));
    this.buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.UNSIGNED_SHORT, true, 6, 0);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE);
    this.box = new Uint16Array(BOX);
    this.#gl = gl;
  }

  #points({ arrays }) {
    const gl = this.#gl;
    const { clientWidth, clientHeight } = this.element;
    const [width, height] = [clientWidth, clientHeight].map((n) => Math.min(1600, Math.max(1, n)));
    if (this.element.width !== width || this.element.height !== height) Object.assign(this.element, { width, height });
    gl.viewport(0, 0, width, height);
    gl.clearColor(0.028, 0.034, 0.045, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const longest = Math.max(...this.about.size);
    const away = 1.75 * this.#camera.distance * longest;
    gl.uniformMatrix4fv(this.uniforms.matrix, false, this.#matrix(width / height, longest, away));
    gl.uniform1f(this.uniforms.away, away);
    gl.uniform3fv(this.uniforms.size, this.about.size);
    gl.uniform1f(this.uniforms.grain, 0);
    gl.uniform4f(this.uniforms.colour, 0.5, 0.6, 0.75, 0.5);
    gl.bufferData(gl.ARRAY_BUFFER, this.box, gl.STREAM_DRAW);
    gl.drawArrays(gl.LINES, 0, this.box.length / 3);
    const count = this.about.fields.reduce((sum, { name }) => sum + arrays[`points:${name}`].length / 3, 0);
    const grain = 0.4 * height * longest / Math.cbrt(Math.max(count, 1));
    gl.uniform1f(this.uniforms.grain, grain);
    // Light adds up: from each point as much as makes the smoke bright where it is as deep as its width.
    const metre = 1.2 * Math.min(height, width) / away;
    const each = Math.min(0.6, Math.max(0.006, 0.45 * this.#area(arrays) * (metre * away / grain) ** 2 / Math.max(count, 1)));
    for (const { name, colour } of this.about.fields) {
      const points = arrays[`points:${name}`];
      gl.uniform4f(this.uniforms.colour, ...colour.map((part) => part / 255), each);
      gl.bufferData(gl.ARRAY_BUFFER, points, gl.STREAM_DRAW);
      gl.drawArrays(gl.POINTS, 0, points.length / 3);
    }
  }

  /** Square metres of the picture that the smoke takes, about: of an ellipse of two standard deviations. */
  #area(arrays) {
    const { size, fields } = this.about;
    const sums = [0, 1, 2].map(() => [0, 0]);
    let count = 0;
    for (const { name } of fields) {
      const points = arrays[`points:${name}`];
      const stride = 3 * Math.max(1, Math.floor(points.length / 3 / 500));
      for (let at = 0; at + 2 < points.length; at += stride, count++) {
        for (let axis = 0; axis < 3; axis++) {
          const place = points[at + axis] / 65535 * size[axis];
          sums[axis][0] += place;
          sums[axis][1] += place * place;
        }
      }
    }
    const spread = sums.map(([sum, squares]) => Math.sqrt(Math.max(0, squares / count - (sum / count) ** 2)) || 0);
    const [, middle, widest] = spread.sort((a, b) => a - b);
    return 4 * Math.PI * middle * widest;
  }

  /** From metres around the middle of the domain to clip space: turned about y, tilted, moved away. */
  #matrix(aspect, longest, away) {
    const { turn, rise } = this.#camera;
    const [ct, st, cr, sr] = [Math.cos(turn), Math.sin(turn), Math.cos(rise), Math.sin(rise)];
    const scale = 2.4 * Math.min(1, aspect);
    const [near, far] = [0.05 * longest, 10 * longest];
    const [a, b] = [(near + far) / (near - far), 2 * near * far / (near - far)];
    const rows = [[ct, 0, -st], [-sr * st, cr, -sr * ct], [cr * st, sr, cr * ct]];
    const [x, y, z] = rows;
    return [0, 1, 2].flatMap((axis) => [scale / aspect * x[axis], scale * y[axis], a * z[axis], -z[axis]])
      .concat([0, 0, -a * away + b, away]);
  }
}
