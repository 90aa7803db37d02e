// The search of this site runs in a worker, and browsers start none from a file.  There, a hidden frame serves as one.
// A worker that is made of text, as that of Python, they do start.
if (location.protocol === "file:") {
  const Own = window.Worker;
  window.Worker = class extends EventTarget {
    constructor(url) {
      if (String(url).startsWith("blob:")) return new Own(url);
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      const load = (source) =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script");
          script.src = source;
          script.onload = done;
          script.onerror = failed;
          inside.document.body.append(script);
        });
      inside.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => load(new URL(source, url).href)), Promise.resolve());
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = load(url);
    }

    postMessage(data) {
      this.ready.then(() => {
        const { MessageEvent } = this.frame.contentWindow;
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.frame.remove();
    }
  };
}
