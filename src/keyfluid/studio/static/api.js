// Requests to the server, its numbered events, and arrays in binary answers.

/** An answer that says no: `status`, `message`, `faults` ({path, message, line?}) and what else the route adds. */
export class Refusal extends Error {
  constructor(status, error) {
    super(error.message);
    Object.assign(this, error, { status });
  }
}

const query = (values = {}) => {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  return given.length ? `?${new URLSearchParams(given)}` : "";
};

/** The address of a route, for pictures and films. */
export const address = (route, values) => `/api/${route}${query(values)}`;

async function send(method, route, values, body, signal) {
  const json = body !== undefined && !(body instanceof Blob) && !(body instanceof ArrayBuffer);
  const response = await fetch(address(route, values), {
    method, signal, body: json ? JSON.stringify(body) : body, headers: json ? { "Content-Type": "application/json" } : {},
  });
  if (response.ok) return response;
  let error = { message: `the studio answered ${response.status}`, faults: [] };
  try {
    error = (await response.json()).error;
  } catch {
    // Not JSON: the guard's plain text, or a proxy's.
  }
  throw new Refusal(response.status, error);
}

export const get = async (route, values, signal) => (await send("GET", route, values, undefined, signal)).json();
export const post = async (route, body = {}, signal) => (await send("POST", route, {}, body, signal)).json();
export const put = async (route, values, body) => (await send("PUT", route, values, body)).json();

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i1: Int8Array, i2: Int16Array, f4: Float32Array };

/** An answer with arrays: {header, arrays: {name: typed array}}; see studio/arrays.py. */
export async function arrays(route, values, signal) {
  return unpack(await (await send("GET", route, values, undefined, signal)).arrayBuffer());
}

/** The same for a question with a body. */
export async function postArrays(route, body, signal) {
  return unpack(await (await send("POST", route, {}, body, signal)).arrayBuffer());
}

/** The same for a message of a socket. */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const found = {};
  for (const { name, dtype, offset, count } of header.arrays) found[name] = new TYPES[dtype](buffer, offset, count);
  return { header, arrays: found };
}

/** Events of the server: `events.on("job", listener)` gives a function that ends it. Reconnects by itself. */
class Events {
  #listeners = new Map();
  #seen = null;
  #session = null;
  #socket = null;
  #wait = 250;
  connected = false;

  on(type, listener) {
    if (!this.#listeners.has(type)) this.#listeners.set(type, new Set());
    this.#listeners.get(type).add(listener);
    return () => this.#listeners.get(type).delete(listener);
  }

  connect() {
    const place = `${location.origin.replace(/^http/, "ws")}/api/events`;
    const known = this.#seen === null ? {} : { since: this.#seen, session: this.#session };
    this.#socket = new WebSocket(place + query(known));
    this.#socket.onmessage = (message) => this.#take(JSON.parse(message.data));
    this.#socket.onclose = () => {
      this.connected = false;
      this.#tell({ type: "lost" });
      setTimeout(() => this.connect(), this.#wait);
      this.#wait = Math.min(2 * this.#wait, 4000);
    };
  }

  #take(event) {
    if (event.type === "hello") {
      const restarted = this.#session !== null && this.#session !== event.session;
      this.connected = true;
      this.#wait = 250;
      this.#session = event.session;
      if (this.#seen === null || restarted) this.#seen = event.n;
      this.#tell({ type: "connected" });
      if (restarted) this.#tell({ type: "reset" });
      return;
    }
    this.#seen = event.n;
    this.#tell(event);
  }

  #tell(event) {
    for (const type of [event.type, "*"]) for (const listener of this.#listeners.get(type) ?? []) listener(event);
  }
}

export const events = new Events();
