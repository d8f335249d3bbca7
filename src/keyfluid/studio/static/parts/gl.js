// WebGL 2 in a few words: programs, textures and places to draw.

/** A program with the places of its uniforms by name. */
export function makeProgram(gl, vertex, fragment) {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(`graphics driver: ${gl.getShaderInfoLog(shader)}`);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(`graphics driver: ${gl.getProgramInfoLog(program)}`);
  const places = {};
  for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
    const { name } = gl.getActiveUniform(program, i);
    places[name] = gl.getUniformLocation(program, name);
  }
  return { program, places };
}

/** Bytes of red, green, blue and alpha as a volume, in the texture that is given or a new one. */
export function makeTexture3(gl, bytes, [width, height, depth], old) {
  const texture = old ?? gl.createTexture();
  gl.activeTexture(gl.TEXTURE0);
  gl.bindTexture(gl.TEXTURE_3D, texture);
  gl.texImage3D(gl.TEXTURE_3D, 0, gl.RGBA8, width, height, depth, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  filter(gl, gl.TEXTURE_3D);
  return texture;
}

/** Bytes as a plane. */
export function makeTexture2(gl, bytes, [width, height], old) {
  const texture = old ?? gl.createTexture();
  gl.activeTexture(gl.TEXTURE2);
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8, width, height, 0, gl.RED, gl.UNSIGNED_BYTE, bytes);
  filter(gl, gl.TEXTURE_2D);
  return texture;
}

function filter(gl, kind) {
  gl.texParameteri(kind, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
  gl.texParameteri(kind, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
  for (const side of ["S", "T", "R"]) gl.texParameteri(kind, gl[`TEXTURE_WRAP_${side}`], gl.CLAMP_TO_EDGE);
}

/** A frame buffer with colour and depth; the old one is given back. */
export function makeTarget(gl, width, height, old) {
  if (old) {
    gl.deleteFramebuffer(old.frame);
    gl.deleteRenderbuffer(old.colour);
    gl.deleteRenderbuffer(old.depth);
  }
  const made = { frame: gl.createFramebuffer(), colour: gl.createRenderbuffer(), depth: gl.createRenderbuffer(), width, height };
  gl.bindFramebuffer(gl.FRAMEBUFFER, made.frame);
  for (const [buffer, format, point] of [
    [made.colour, gl.RGBA8, gl.COLOR_ATTACHMENT0], [made.depth, gl.DEPTH_COMPONENT16, gl.DEPTH_ATTACHMENT],
  ]) {
    gl.bindRenderbuffer(gl.RENDERBUFFER, buffer);
    gl.renderbufferStorage(gl.RENDERBUFFER, format, width, height);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, point, gl.RENDERBUFFER, buffer);
  }
  return made;
}
