// The stage alone on a page, with a scene's state that is kept in the page: no file is written but those uploaded.
(async (path, data) => {
  const { Stage } = await import("/static/parts/stage.js");
  const steps = (name) => name.match(/[\w-]+/g).map((word, i) => (i && /^\d+$/.test(word) ? Number(word) : word));
  const written = (value) => {
    if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
    if (typeof value === "object") return `{ ${Object.entries(value).map(([key, one]) => `${key} = ${written(one)}`).join(", ")} }`;
    return JSON.stringify(value);
  };
  class State extends EventTarget {
    path = path;
    data = data;
    labels = [];
    get text() { return Object.entries(this.data).map(([key, value]) => `${key} = ${written(value)}`).join("\n"); }
    async change(changes, label) {
      for (const change of changes) {
        const words = steps(change.path), last = words.pop();
        const node = words.reduce((one, word) => (word === 0 && !Array.isArray(one) ? one : one[word]), this.data);
        if (change.insert) {
          const entries = Array.isArray(node[last] ?? []) ? node[last] ?? [] : [node[last]];
          entries.splice(change.at ?? entries.length, 0, change.insert);
          node[last] = entries;
        } else if (change.remove) {
          if (Array.isArray(node)) node.splice(last, 1); else delete node[last];
        } else node[last] = change.value;
      }
      this.labels.push(label);
      this.dispatchEvent(new Event("change"));
    }
  }
  const host = document.getElementById("page");
  host.replaceChildren();
  window.said = [];
  window.state = new State();
  const app = {
    say: (text) => said.push(text),
    async try(work) {
      try { return await (typeof work === "function" ? work() : work); } catch (error) { said.push(error.message); return undefined; }
    },
  };
  window.stage?.leave();
  window.stage = new Stage(host, state, app);
  window.drawn = 0;
  stage.addEventListener("drawn", ({ detail }) => { drawn += detail.whole && detail.latest; });
})
