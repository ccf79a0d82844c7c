import "./htmx";
import "./nonces";
import "npm/hx-csp.js";
import "npm/hx-sse.js";

// A reader who has stopped to select a text or rows, or to fill in a form, keeps what is on the page, and gets what was missed after that.
let missed = false;

function isInUse(): boolean {
  const selection = document.getSelection();
  return (selection && !selection.isCollapsed) || !!document.querySelector("main :is(input, select, textarea):focus, main :checked:not(option)");
}

document.addEventListener("htmx:before:swap", (event) => {
  missed = isInUse();
  if (missed) event.preventDefault();
});

// A browser has six connections to a server over HTTP/1.1, and a page that is followed keeps one. So at most four of the pages in front
// are followed, and the others are read again now and then, until one of the four is closed or goes to the background. The browser
// gives the places of a page that ends to others.
const places = ["followed 1", "followed 2", "followed 3", "followed 4"];
const nowAndThen = 10_000;
let leavePlace: (() => void) | null = null;

function takePlace(name: string): Promise<boolean> {
  return new Promise((taken) => {
    void navigator.locks.request(name, { ifAvailable: true }, (lock) => {
      if (!lock || leavePlace || document.hidden) return taken(!!leavePlace);

      const held = new Promise<void>((leave) => (leavePlace = leave));
      taken(true);
      return held;
    });
  });
}

async function follow(page: FollowedPage) {
  if (document.hidden || page._htmx?.sse) return;

  for (const name of places) {
    if (leavePlace || (await takePlace(name))) {
      window.htmx.trigger(page, "follow");
      return;
    }
  }
  readAgain(page);
}

function readAgain(page: HTMLElement) {
  void window.htmx.ajax("GET", location.href, { source: page, target: page, select: "#content", swap: "innerMorph strip:true" });
}

interface FollowedPage extends HTMLElement {
  _htmx?: { sse?: object };
}

document.addEventListener("DOMContentLoaded", () => {
  const page = document.querySelector<FollowedPage>("[hx-trigger=follow]");
  if (!page) return;

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      leavePlace?.();
      leavePlace = null;
    }
    void follow(page);
  });
  // A page that comes to the front again needs a place again.
  document.addEventListener("htmx:sse:before:connection", (event) => {
    if (!leavePlace) event.preventDefault();
  });
  window.setInterval(() => void follow(page), nowAndThen);
  window.setInterval(() => {
    if (missed && !isInUse() && !document.hidden) readAgain(page);
  }, 1000);
  void follow(page);
});

// On a narrow screen the entries of the navigation stand in one row, which is scrolled to the present one.
document.addEventListener("DOMContentLoaded", () => {
  const entry = document.querySelector<HTMLElement>("header nav [aria-current]");
  const row = entry?.parentElement;
  if (entry && row) row.scrollLeft = entry.offsetLeft - (row.clientWidth - entry.offsetWidth) / 2;
});

// A picture that is wider than the page begins where the order is, or was last. It has come from the left, so there is more room for that.
const wayShare = 0.65;

function lastOf(picture: Element): Element | undefined {
  const numbers = [...picture.querySelectorAll("text.number")];
  return numbers.sort((a, b) => Number(a.textContent) - Number(b.textContent)).pop();
}
document.addEventListener("DOMContentLoaded", () => {
  for (const picture of document.querySelectorAll<HTMLElement>(".picture")) {
    const present = picture.querySelector(".present") ?? lastOf(picture);
    if (!present) continue;

    const place = present.getBoundingClientRect();
    picture.scrollLeft = place.left + place.width / 2 - picture.getBoundingClientRect().left - picture.clientWidth * wayShare;
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

  // The time line is not scaled, so its units are pixels.
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
