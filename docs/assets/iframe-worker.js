// Search without a server. Browsers start no workers for pages opened from a folder (file://), and the theme searches in
// a worker: there, a hidden frame takes its place. It loads the same script and passes the same messages.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.appendChild(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        if (this.onmessage) this.onmessage(event);
        this.dispatchEvent(event);
      };
      this.loaded = new Promise((resolve, reject) => {
        const script = inside.document.createElement("script");
        script.onload = resolve;
        script.onerror = reject;
        script.src = url;
        inside.document.body.appendChild(script);
      });
      this.send = (data) => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      this.frame = frame;
    }

    postMessage(data) {
      this.loaded.then(() => this.send(data));
    }

    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
