import "./htmx";
import "npm/hx-csp.js";
import "npm/hx-sse.js";

// A reader who has stopped to select a text or to fill in a form keeps what is on the page.
document.addEventListener("htmx:before:swap", (event) => {
  const selection = document.getSelection();
  const field = document.activeElement;
  if ((selection && !selection.isCollapsed) || field instanceof HTMLInputElement || field instanceof HTMLSelectElement) {
    event.preventDefault();
  }
});

// rt-ago shows how long ago its moment was, above the time that the page was written with.
class Ago extends HTMLElement {
  private timer = 0;
  private readonly shown = this.attachShadow({ mode: "closed" });

  connectedCallback() {
    this.show();
    this.timer = window.setInterval(() => this.show(), 1000);
  }

  disconnectedCallback() {
    window.clearInterval(this.timer);
  }

  private show() {
    const at = Date.parse(this.getAttribute("at") ?? "");
    if (Number.isNaN(at)) return;

    const seconds = Math.round((Date.now() - at) / 1000);
    const amount = Math.abs(seconds);
    const [value, unit] =
      amount < 60 ? [amount, "s"] : amount < 3600 ? [Math.floor(amount / 60), "min"] : amount < 86400 ? [Math.floor(amount / 3600), "h"] : [Math.floor(amount / 86400), "d"];
    this.shown.textContent = seconds < 0 ? `in ${value} ${unit}` : `${value} ${unit} ago`;
  }
}
customElements.define("rt-ago", Ago);

// A copy button copies the text of the element before it.
document.addEventListener("click", (event) => {
  const button = (event.target as Element | null)?.closest("[data-copy]");
  const text = button?.previousElementSibling?.textContent;
  if (button && text) {
    void navigator.clipboard.writeText(text).then(() => {
      button.textContent = "copied";
    });
  }
});
