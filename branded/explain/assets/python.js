// Python in the page: Pyodide in a worker, so that the page stays alive and a program can be stopped.

// A script may be loaded from a file where a fetch may not; so each asset is a script that calls this with its text.
const received = new Map();
window.brandedAsset = (name, text) => received.set(name, text);

function loadScript(folder, name) {
  return new Promise((resolve, reject) => {
    const failed = () => reject(new Error(`${folder}/${name}.js is not beside this page`));
    document.head.append(h("script", { src: `${folder}/${name}.js`, onload: resolve, onerror: failed }));
  });
}

async function unpack(text) {
  const binary = atob(text);
  const packed = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) packed[i] = binary.charCodeAt(i); // Uint8Array.from takes ten times as long
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** That a program was stopped is no mistake of it. */
class Stopped extends Error {}

class Python {
  /** `parts` has the folder of the assets, their names, and the text of the worker; `say` is told how far it is. */
  constructor(parts, say) {
    Object.assign(this, { parts, say, assets: null, worker: null, started: null, halt: () => {} });
  }

  start() {
    this.started ??= this.begin().catch((error) => {
      this.started = null;
      throw error;
    });
    return this.started;
  }

  async begin() {
    this.assets ??= await this.load();
    this.say("Starting Python …");
    this.worker = new Worker(URL.createObjectURL(new Blob([this.parts.worker], { type: "text/javascript" })));
    await this.ask({ kind: "start", assets: this.assets });
    this.say("Python is ready.");
  }

  async load() {
    const { folder, assets } = this.parts;
    const found = {};
    for (const [i, name] of assets.entries()) {
      this.say(`Loading Python: file ${i + 1} of ${assets.length} …`);
      await loadScript(folder, name);
      found[name] = await unpack(received.get(name));
      received.delete(name);
    }
    return found;
  }

  ask(message) {
    return new Promise((resolve, reject) => {
      const broken = (text) => {
        this.end(); // Python that broke once answers nothing more
        reject(new Error(text));
      };
      this.worker.onmessage = ({ data }) => {
        if (data.kind === "progress") this.say(data.text);
        else if (data.kind === "broken") broken(data.text);
        else resolve(data.text);
      };
      this.worker.onerror = (event) => broken(event.message ?? "the worker could not start");
      this.worker.postMessage(message);
    });
  }

  /** The text that a function of a Python module gives for these words; one call at a time. */
  call(module, name, ...words) {
    let halted = false;
    const work = async () => {
      await this.start();
      if (halted) return null;
      this.say("Running …");
      return this.ask({ kind: "call", module, name, words });
    };
    const end = new Promise((_, reject) => {
      this.halt = () => {
        halted = true;
        reject(new Stopped());
      };
    });
    return Promise.race([work(), end]);
  }

  /** A worker that computes hears nothing: it is ended, and the next call starts another one. */
  stop() {
    this.halt();
    if (this.worker !== null) this.end(); // else it is still loading, which may go on
  }

  end() {
    this.worker?.terminate();
    this.worker = null;
    this.started = null;
  }
}
