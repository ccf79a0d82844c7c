// An attribute of htmx, or of its extensions, does something only on an element with the page's nonce. The extension hx-csp looks at
// elements that htmx itself begins; the extension for event streams looks for its own. So the others lose their attributes before both.
const pageNonce = document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce;

function withhold(element: Element) {
  if (pageNonce && element.getAttribute("hx-nonce") === pageNonce) return;

  for (const { name } of [...element.attributes]) {
    if (/^(hx|sse)-/i.test(name)) element.removeAttribute(name);
  }
}

document.addEventListener("htmx:before:process", (event) => {
  const root = event.target;
  if (!(root instanceof Element)) return;

  for (const element of [root, ...root.querySelectorAll("*")]) withhold(element);
});
