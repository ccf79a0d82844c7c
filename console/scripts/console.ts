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

// A drag over a time line shows that part of it alone.
let drag: { lanes: SVGSVGElement; from: number; box: SVGRectElement } | null = null;

document.addEventListener("pointerdown", (event) => {
  const lanes = (event.target as Element | null)?.closest<SVGSVGElement>("svg.lanes");
  if (!lanes || event.button !== 0) return;

  const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  box.setAttribute("class", "chosen");
  lanes.append(box);
  drag = { lanes, from: event.clientX, box };
});

document.addEventListener("pointermove", (event) => {
  if (!drag) return;

  // The picture is not scaled, so its units are pixels.
  const left = drag.lanes.getBoundingClientRect().left;
  drag.box.setAttribute("x", String(Math.min(drag.from, event.clientX) - left));
  drag.box.setAttribute("width", String(Math.abs(event.clientX - drag.from)));
  drag.box.setAttribute("height", drag.lanes.getAttribute("height") ?? "0");
});

document.addEventListener("pointerup", (event) => {
  if (!drag) return;

  const [left, right] = [drag.from, event.clientX].sort((a, b) => a - b);
  const dots = [...drag.lanes.querySelectorAll("a[data-at]")].filter((dot) => {
    const place = dot.getBoundingClientRect();
    return place.right >= left && place.left <= right;
  });
  drag.box.remove();
  drag = null;

  if (right - left < 12 || dots.length === 0) return; // a click

  const to = new URL(location.href);
  to.searchParams.set("from", dots[0].getAttribute("data-at") ?? "");
  to.searchParams.set("to", dots[dots.length - 1].getAttribute("data-at") ?? "");
  location.assign(to);
});

document.addEventListener("dragstart", (event) => {
  if ((event.target as Element | null)?.closest?.("svg.lanes")) event.preventDefault(); // a dot is a link
});
