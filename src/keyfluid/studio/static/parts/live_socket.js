// The socket of a live run: what it says as events, frames acknowledged as soon as they are drawn.
import { unpack } from "../api.js";

/** Fires "ready", "frame", "set", "saved", "error" and "ended" with the message in `detail`. */
export class LiveSocket extends EventTarget {
  #socket;
  #failed = false;

  constructor(scene) {
    super();
    this.#socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/api/live?${new URLSearchParams({ scene })}`);
    this.#socket.binaryType = "arraybuffer";
    this.#socket.onmessage = ({ data }) => this.#take(data);
    this.#socket.onclose = () => this.#tell("ended", {});
  }

  send(type, values = {}) {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ type, ...values }));
  }

  close() {
    const socket = this.#socket;
    socket.onmessage = socket.onclose = null;
    // Closing one that is still connecting counts as an error in the console.
    if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
    else socket.close();
  }

  #take(data) {
    if (typeof data !== "string") {
      const frame = unpack(data);
      this.#tell("frame", frame);
      this.send("seen", { number: frame.header.number });
      return;
    }
    const message = JSON.parse(data);
    if (message.type === "error") {
      if (message.ended && this.#failed) return;
      this.#failed = true;
    }
    this.#tell(message.type, message);
  }

  #tell(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
}
