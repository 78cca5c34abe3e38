// A page that was opened from the disk may start no worker. On such a page, the search's worker runs in a hidden frame.
if (location.protocol === "file:") {
  const load = (inside, address) =>
    new Promise((loaded, failed) => {
      const script = inside.document.createElement("script");
      Object.assign(script, { src: address, onload: loaded, onerror: failed });
      inside.document.body.append(script);
    });

  // The theme looks for this name, to know where its scripts are.
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.document.open();
      inside.document.write("<title>The search</title><body></body>");
      inside.document.close();
      inside.postMessage = (data) => this.tell(data);
      inside.importScripts = async (...addresses) => {
        for (const each of addresses) await load(inside, each);
      };
      this.ready = load(inside, address);
    }

    tell(data) {
      const message = new MessageEvent("message", { data: structuredClone(data) });
      this.dispatchEvent(message);
      this.onmessage?.(message);
    }

    postMessage(data) {
      const inside = this.frame.contentWindow;
      this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data: structuredClone(data) })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
