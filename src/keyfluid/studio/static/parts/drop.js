// Files dropped on the page: pictures, meshes, animated glTF, VDB, arrays; each becomes a body of the scene.
import { put } from "../api.js";
import { tidy } from "./handles.js";

const TAKEN = ".png,.jpg,.jpeg,.webp,.gif,.obj,.ply,.stl,.gltf,.glb,.vdb,.npy,.ttf,.otf";
const SOLID = ["mesh"];
const FLAT = ["image", "vdb", "npy"];

export class Drop {
  constructor(element, stage) {
    Object.assign(this, { element, stage });
    this.over = (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      element.classList.add("dropping");
    };
    this.away = (event) => {
      if (event.relatedTarget === null) element.classList.remove("dropping");
    };
    this.dropped = (event) => {
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      element.classList.remove("dropping");
      this.take([...event.dataTransfer.files], this.#place(event));
    };
    addEventListener("dragover", this.over);
    addEventListener("dragleave", this.away);
    addEventListener("drop", this.dropped);
    this.input = Object.assign(document.createElement("input"), { type: "file", accept: TAKEN, multiple: true, hidden: true });
    this.input.dataset.id = "file-input";
    this.input.addEventListener("change", () => {
      this.take([...this.input.files]);
      this.input.value = "";
    });
    element.append(this.input);
  }

  /** Let the person choose files. */
  choose() { this.input.click(); }

  /** Upload files one after the other and add a body for each; center: metres, the middle without it. */
  async take(files, center) {
    for (const file of files) await this.stage.app.try(this.#take(file, center));
  }

  async #take(file, center) {
    const { stage } = this;
    const saved = await put("file", { scene: stage.state.path, name: file.name }, file);
    if (saved.key === "font") return this.#font(saved.name);
    const role = stage.maker.role, solid = role === "obstacle";
    if (!(stage.dim === 3 ? [...SOLID, ...FLAT] : FLAT).includes(saved.key)) throw new Error(`${saved.name}: a mesh needs a 3D scene; this one is 2D`);
    if (solid && !SOLID.includes(saved.key)) throw new Error(`${saved.name}: an obstacle is a shape or a mesh; choose another kind of body for this file`);
    const place = center ?? stage.size.map((side) => side / 2);
    const keys = { [saved.key]: saved.name };
    if (saved.key === "mesh") Object.assign(keys, { center: place.map(tidy), fit: 0.6, ...(saved.animated && !solid ? { animated: true } : {}) });
    if (saved.key === "image") Object.assign(keys, { center: place.map(tidy), fit: 0.6, ...((await isPaper(file)) ? { invert: true } : {}) });
    await stage.maker.add(keys);
    return stage.app.say(`${saved.name} is beside the scene now, as ${solid ? "an obstacle" : `a ${role}`}.`);
  }

  /** A font is for the text that is chosen. */
  #font(name) {
    const { body } = this.stage;
    if (body?.facts.kind !== "text") throw new Error(`${name}: choose a text first, then drop its font`);
    return this.stage.state.change([{ path: `${body.id}.font`, value: name }], "Set font");
  }

  #place(event) {
    const view = this.stage.views.find((one) => one.element.contains(event.target));
    if (!view) return undefined;
    const center = this.stage.size.map((side) => side / 2), plane = view.toPlane(view.pointer(event));
    view.plane.forEach((axis, i) => { center[axis] = Math.max(0, Math.min(this.stage.size[axis], plane[i])); });
    return center;
  }

  leave() {
    removeEventListener("dragover", this.over);
    removeEventListener("dragleave", this.away);
    removeEventListener("drop", this.dropped);
  }
}

/** Whether a picture is dark on bright paper, by its border; one with transparent parts is taken by those. */
async function isPaper(file) {
  let picture;
  try {
    picture = await createImageBitmap(file);
  } catch {
    return false;
  }
  const side = 32, canvas = new OffscreenCanvas(side, side), context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0, side, side);
  const { data } = context.getImageData(0, 0, side, side), border = [];
  for (let i = 0; i < side * side; i++) {
    if (data[4 * i + 3] < 250) return false;
    const x = i % side, y = Math.floor(i / side);
    if (x % (side - 1) === 0 || y % (side - 1) === 0) border.push(data[4 * i] + data[4 * i + 1] + data[4 * i + 2]);
  }
  border.sort((one, two) => one - two);
  return border[border.length >> 1] > 1.5 * 255;
}
