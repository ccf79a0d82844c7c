//go:build browser

package browser

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

// screenshots is where the pictures of the pages go: with none, no pictures are made.
var screenshots = flag.String("screenshots", "", "the `directory` for pictures of the console's pages")

// axe checks whether people with disabilities can use a page. It is fetched from npm's registry when the tests run.
const (
	axe          = "https://registry.npmjs.org/axe-core/-/axe-core-4.14.1.tgz"
	axeIntegrity = "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)

// allPages are the pages of the console: each one, with what is on it for a part of a list, a form of each kind, and a page that there
// is not.
var allPages = []string{
	"/", "/orders", "/orders?state=PENDING&reference=A-1", "/orders/o-1", "/workflow", "/refusals", "/executions", "/stream", "/dead-letters?handler=notify",
	"/deliveries?endpoint=shop&status=MISSED", "/jobs", "/money", "/money?payment=p-1", "/money?account=cash", "/stock", "/stock?order=o-1", "/once?claim=c-1", "/quotas",
	"/audit", "/doctor", "/doctor/verify", "/stuck", "/docs/", "/docs/?q=stuck", "/docs/operate/console", "/nothing",
	"/act/apply?event=release&order=o-1", "/act/change-item?order=o-1&sku=mug", "/act/set-address?order=o-1", "/act/refund?payment=p-1&order=o-1",
	"/act/create-endpoint", "/act/schedule?order=o-1", "/act/orders-erase?ids=o-1", "/act/orders-migrate", "/act/erase?order=o-1",
}

// TestEveryPageFitsAndCanBeUsed: at three widths, light and dark, no page is scrolled sideways, its policy refuses nothing of its own,
// and axe finds nothing serious. With -screenshots, each one is kept as a picture.
func TestEveryPageFitsAndCanBeUsed(t *testing.T) {
	address, b := openConsole(t)
	script := axeScript(t)
	page := openTabFor(t, 5*patience)

	for _, scheme := range []string{"light", "dark"} {
		page.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)

		for _, width := range []int{1280, 768, 390} {
			page.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)

			for _, path := range append(allPages, jobPage(t, b)) {
				page.open(address + "/console" + path)
				page.until("document.readyState === 'complete' && location.href", address+"/console"+path)
				page.until("!!document.querySelector('h1')", "true")

				if wide := page.look("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != "0" {
					t.Errorf("%s at %d px, %s: %s px too wide: %s", path, width, scheme, wide, page.look(tooWide))
				}

				if width != 768 { // what differs between the widths differs between the other two
					page.accessible(script, path, width, scheme)
				}
				page.keep(*screenshots, fmt.Sprintf("console-%s-%d-%s", strings.Trim(strings.NewReplacer("/", "-", "?", "-", "&", "-", "=", "-").Replace(path), "-"), width, scheme))
			}
		}
	}

	page.mu.Lock()
	defer page.mu.Unlock()

	if len(page.refused) > 0 {
		t.Errorf("refused, or failed: %v", page.refused)
	}
}

// TestPagesCanBeReadWithoutScripts: each page has its text.
func TestPagesCanBeReadWithoutScripts(t *testing.T) {
	address, b := openConsole(t)
	page := openTab(t)
	page.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)

	for _, path := range append(allPages, jobPage(t, b)) {
		page.open(address + "/console" + path)
		page.until("document.readyState === 'complete' && location.href", address+"/console"+path)

		if text := page.look("document.querySelector('main').innerText"); len(text) < 40 {
			t.Errorf("%s: %q", path, text)
		}
	}
}

// TestEveryPageByKeyboard: the Tab key comes to everything that can be used on a page, which then has an outline, and Enter on an entry
// of the navigation leads to its page.
func TestEveryPageByKeyboard(t *testing.T) {
	address, b := openConsole(t)
	page := openTabFor(t, 3*patience)

	for _, path := range append(allPages, jobPage(t, b)) {
		page.open(address + "/console" + path)
		page.until("document.readyState === 'complete' && location.href", address+"/console"+path)
		page.look(usable)

		for presses := 0; page.look(reached) == "true" && presses < 600; presses++ {
			page.press("Tab", 9)
		}

		if missed := page.look("window.unseen + [...window.usable].filter(e => e.isConnected && e.matches(kinds)).map(e => e.outerHTML.slice(0, 120)).join(' | ')"); missed != "" {
			t.Errorf("%s: the keyboard does not come to, or does not show: %s", path, missed)
		}
	}

	for _, entry := range []string{"Orders", "Money", "Documents"} {
		page.tabTo(element("nav a", entry))
		page.enter()
		page.until("document.readyState === 'complete' && document.querySelector('nav a[aria-current]')?.innerText || ''", entry)
	}
}

const (
	// usable collects what can be used on a page. A page that is followed may change meanwhile.
	usable = `window.kinds = 'a[href], button, select, textarea, summary, input:not([type=hidden]), [tabindex="0"]', window.unseen = '',
		window.usable = new Set([...document.querySelectorAll(kinds)].filter(e => e.checkVisibility())), 0`
	// reached takes out of it what has the focus, and says whether there is more.
	reached = `(() => {
		const e = document.activeElement;
		if (window.usable.delete(e) && getComputedStyle(e).outlineStyle === 'none') window.unseen += e.outerHTML.slice(0, 120) + ' | ';
		return [...window.usable].some(e => e.isConnected && e.matches(kinds));
	})()`
)

// TestTheEleventhTabLoads: a browser has six connections to a server, and a page that is followed keeps one. Eleven pages in front
// load, and show what happens: the first ones are followed, and the others are read again until places are free.
func TestTheEleventhTabLoads(t *testing.T) {
	address, b := openConsole(t)
	page := openTab(t)
	tabs := make([]string, 11)

	for i := range tabs {
		began := time.Now()
		tabs[i] = page.another(fmt.Sprint(address, "/console/orders/o-", i+2)) // the first one is on hold
		page.sees("The way that it has taken")
		t.Logf("page %d is loaded after %s", i+1, time.Since(began))
	}
	page.follows(b, "o-12", workflow.Hold, "ON_HOLD")

	page.session = tabs[0]
	page.until(followed, "true")
	page.follows(b, "o-2", workflow.Hold, "ON_HOLD")

	for _, session := range tabs[:10] { // they go to the background
		page.session = session
		page.hide(true)
	}
	page.session = tabs[10]
	page.until(followed, "true")
	page.follows(b, "o-12", workflow.Release, "PENDING")

	page.session = tabs[0]
	page.hide(false)
	page.until(followed, "true")
	page.follows(b, "o-2", workflow.Release, "PENDING")
}

// hide tells the page that it is in the background. The browser of the tests has every page in front.
func (b *tab) hide(hidden bool) {
	b.t.Helper()
	b.look(fmt.Sprintf("Object.defineProperty(document, 'hidden', {configurable: true, value: %t}); document.dispatchEvent(new Event('visibilitychange')); 0", hidden))
}

// followed says whether a page has a connection on which the server tells what happens.
const followed = "!!document.querySelector('main')._htmx?.sse"

// TestAPageInUseIsLeftAlone: a new order is on the list and on the overview without another click. While rows of the list are selected it
// stays as it is, so that an act is about the rows that a person has seen, and it goes on after that.
func TestAPageInUseIsLeftAlone(t *testing.T) {
	address, b := openConsole(t)
	page := openTab(t)
	place := func(id transitions.OrderID) {
		t.Helper()

		if _, err := b.Orders.Create(t.Context(), transitions.NewOrder{ID: id, Total: transitions.Money{Amount: 5, Currency: "EUR"}}); err != nil {
			t.Fatal(err)
		}
	}

	page.open(address + "/console/")
	page.sees("Overview")
	place("new-1")
	page.sees("new-1")

	page.open(address + "/console/orders")
	page.sees("o-12")
	page.until(followed, "true")
	place("new-2")
	page.sees("new-2")

	page.look("document.addEventListener('htmx:before:swap', e => setTimeout(() => { window.prevented ||= e.defaultPrevented })); 0")
	page.click("document.querySelector('[value=o-12]')", 1)
	page.look("document.activeElement.blur(); 0")
	place("new-3")
	page.until("!!window.prevented", "true")

	if chosen := page.look("document.querySelector(':checked').value + document.querySelector('main').innerText.includes('new-3')"); chosen != "o-12false" {
		t.Errorf("while a row is selected: %s", chosen)
	}
	page.click("document.querySelector('[value=o-12]')", 1)
	page.look("document.activeElement.blur(); 0")
	page.sees("new-3")
}

// follows moves the order, and waits until the page shows it without being loaded again.
func (b *tab) follows(backend *server.Backend, id string, event workflow.Event, state string) {
	b.t.Helper()
	b.look("window.loaded = 'once'; 0")

	if _, err := backend.Orders.Apply(b.t.Context(), transitions.Request{OrderID: transitions.OrderID(id), Event: event, RequestID: transitions.RequestID(event)}); err != nil {
		b.t.Fatal(err)
	}
	b.until("window.loaded + ' ' + document.querySelector('h1 .state').textContent", "once "+state)
}

// TestADragShowsAPartOfTheTimeLine by the mouse.
func TestADragShowsAPartOfTheTimeLine(t *testing.T) {
	address, _ := openConsole(t)
	page := openTab(t)
	page.open(address + "/console/orders/o-1")
	page.sees("What happened, by time")
	page.until("customElements.get('rt-ago') !== undefined", "true")

	var box struct{ X, Y, Width float64 }
	place := page.look("(() => { const e = document.querySelector('svg.lanes'); e.scrollIntoView({block: 'center'}); const d = [...e.querySelectorAll('a[data-at]')].at(-1).getBoundingClientRect(); return JSON.stringify({x: d.x + d.width / 2, y: e.getBoundingClientRect().y + 4, width: 8}) })()")
	if err := json.Unmarshal([]byte(place), &box); err != nil {
		t.Fatalf("%s: %v", place, err)
	}

	for _, step := range []struct {
		kind string
		x    float64
	}{{"mousePressed", box.X - box.Width}, {"mouseMoved", box.X}, {"mouseMoved", box.X + 2*box.Width}, {"mouseReleased", box.X + 2*box.Width}} {
		page.call("Input.dispatchMouseEvent", map[string]any{"type": step.kind, "x": step.x, "y": box.Y, "button": "left", "buttons": 1, "clickCount": 1}, nil)
	}
	page.until("new URL(location.href).searchParams.has('from') && new URL(location.href).searchParams.has('to')", "true")
	page.sees("What happened, by time")

	page.mu.Lock()
	defer page.mu.Unlock()

	if len(page.refused) > 0 {
		t.Errorf("refused, or failed: %v", page.refused)
	}
}

// tooWide names the elements without which the page is less wide, from the outside in.
const tooWide = `(() => {
	const page = document.documentElement, found = [];
	const look = (inside) => {
		for (const e of inside.children) {
			const wide = page.scrollWidth, shown = e.style.display;
			e.style.display = 'none';
			const without = page.scrollWidth;
			e.style.display = shown;
			if (without < wide) {
				found.push(e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + (e.textContent || '').slice(0, 40));
				look(e);
			}
		}
	};
	look(document.body);
	return found.join(' | ');
})()`

// accessible lets axe look at the page.
func (b *tab) accessible(script, path string, width int, scheme string) {
	b.t.Helper()

	// The page's own policy does not hold for what the debugger evaluates.
	b.look(script + "; 0")
	b.look("window.found = ''; axe.run(document, {resultTypes: ['violations']}).then(r => { window.found = 'done ' + r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id + ': ' + v.nodes.map(n => n.target.join(' ') + ' ' + (n.any[0]?.message || '')).slice(0, 3).join(', ')).join('; ') }, e => { window.found = 'done failed: ' + e }); 0")
	b.until("(window.found || '').startsWith('done')", "true")

	if found := strings.TrimPrefix(b.look("window.found"), "done "); found != "" && found != "done" {
		b.t.Errorf("%s at %d px, %s: %s", path, width, scheme, found)
	}
}

// maxPicture is the most bytes that a picture may have.
const maxPicture = 300 << 10

// keep keeps what the page looks like in a file of the directory, if there is one.
func (b *tab) keep(dir, name string) {
	b.t.Helper()

	if dir == "" {
		return
	}

	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "optimizeForSpeed": false}, &shot)

	content, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), content, 0o644)
	}

	if err != nil {
		b.t.Fatal(err)
	}

	if len(content) > maxPicture {
		b.t.Errorf("%s has %d bytes", name, len(content))
	}
}

// axeScript fetches axe. Without it the test fails: nothing was tried.
func axeScript(t *testing.T) string {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, axe, nil)
	if err != nil {
		t.Fatal(err)
	}

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatalf("axe cannot be fetched, and nothing was tried: %v", err)
	}
	defer answer.Body.Close()

	archive, err := io.ReadAll(io.LimitReader(answer.Body, 32<<20))
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("axe cannot be fetched, and nothing was tried: status %d, %v", answer.StatusCode, err)
	}

	sum := sha512.Sum512(archive)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != axeIntegrity {
		t.Fatalf("the archive of axe has the integrity %s, want %s", got, axeIntegrity)
	}

	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}

	for files := tar.NewReader(unzipped); ; {
		file, err := files.Next()
		if err != nil {
			t.Fatalf("the archive of axe has no axe.min.js: %v", err)
		}

		if file.Name == "package/axe.min.js" {
			script, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}

			return string(script)
		}
	}
}

// openConsole serves the console as `ratchet dev` does, with some orders.
func openConsole(t *testing.T) (string, *server.Backend) {
	t.Helper()

	ctx, stop := context.WithCancel(context.Background())

	b, err := server.Embed(server.Config{Data: filepath.Join(t.TempDir(), "data"), OrderLists: true, ExpireUnpaid: 24 * time.Hour}, slog.New(slog.DiscardHandler), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	if err := b.Init(ctx); err != nil {
		t.Fatal(err)
	}

	fillShop(t, b)

	if _, err := b.CountOrders(ctx); err != nil {
		t.Fatal(err)
	}

	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- b.ServeAPI(ctx, l, true) }()
	t.Cleanup(func() {
		stop()

		for _, err := range []error{<-ended, b.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})

	address := "http://" + l.Addr().String()
	startJob(t, address)

	return address, b
}
