// Runs beside the page: Pyodide, tinygrad and branded, out of the bytes that the page sends.

// Pyodide takes a worker that can import scripts for one that cannot import modules; this one imports modules only.
self.importScripts = undefined;

let python = null;

const address = (bytes, type) => URL.createObjectURL(new Blob([bytes], { type }));
const text = (bytes) => new TextDecoder().decode(bytes);

async function start(assets) {
  postMessage({ kind: "progress", text: "Starting Python …" });
  // the one file that Pyodide always fetches; there is no server that could give it
  self.fetch = async (what) => {
    const url = String(what.url ?? what);
    if (url.endsWith("/pyodide.asm.wasm")) return new Response(assets["pyodide.asm.wasm"], { headers: { "content-type": "application/wasm" } });
    if (url.startsWith("blob:")) return new Response(assets["python_stdlib.zip"]);
    throw new Error(`nothing is fetched here: ${url}`);
  };
  const { loadPyodide } = await import(address(assets["pyodide.mjs"], "text/javascript"));
  const createPyodideModule = (await import(address(assets["pyodide.asm.mjs"], "text/javascript"))).default;
  python = await loadPyodide({
    indexURL: "https://pyodide.invalid/",
    createPyodideModule,
    stdLibURL: address(assets["python_stdlib.zip"]),
    // no compiler is looked for, and nothing is kept on a disk or done in another process
    env: { HOME: "/home/pyodide", DEV: "PYTHON", CC: "none", CACHELEVEL: "0", CCACHE: "0", PARALLEL: "0" },
    lockFileContents: JSON.parse(text(assets["pyodide-lock.json"])),
  });
  postMessage({ kind: "progress", text: "Importing tinygrad and branded …" });
  python.unpackArchive(assets["packages.zip"], "zip", { extractDir: "/packages" });
  python.runPython("import sys; sys.path.insert(0, '/packages')");
  python.pyimport("branded.learn.explorer.browser").use_python_device();
  postMessage({ kind: "ready" });
}

function call(module, name, words) {
  const said = python.pyimport(module)[name](...words.map((word) => python.toPy(word)));
  postMessage({ kind: "said", text: said });
}

self.onmessage = async ({ data }) => {
  try {
    if (data.kind === "start") await start(data.assets);
    else call(data.module, data.name, data.words);
  } catch (error) {
    postMessage({ kind: "broken", text: String(error) });
  }
};
