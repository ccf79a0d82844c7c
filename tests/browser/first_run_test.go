//go:build browser

package browser

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratchet/tests/program"
)

// pictures is where the pictures of the documents go: with none, no pictures are made.
var pictures = flag.String("pictures", "", "the `directory` for the pictures of README.md and docs/operate/console.md")

// firstRun is how long the first page may take. On an idle machine it is there within a second.
var firstRun = flag.Duration("first-run", 10*time.Second, "the longest `time` until the first page is there")

// TestTheFirstRun: `ratchet dev` in an empty directory prints the address of the console, which shows at once that nothing is here, and a
// button. A click places an order that is watched to its end without loading a page again.
func TestTheFirstRun(t *testing.T) {
	dev := program.Process{
		Bin: program.Self(t, "ratchet"), Args: []string{"dev"}, Work: t.TempDir(), Dir: t.TempDir(), Name: "dev",
		Env: []string{"RATCHET_LISTEN=" + program.FreeAddress(t), "RATCHET_API_LISTEN=127.0.0.1:0", "RATCHET_ADMIN_LISTEN=127.0.0.1:0"},
	}.Start(t)
	dev.FirstLine(t)

	address := printed(t, dev, `\s(http://\S+/console/)\s`)
	page := openTab(t)
	began := time.Now()
	page.open(address)
	page.sees("No order is here yet")

	took := time.Since(began)
	if t.Logf("the empty page is there after %s", took); took > *firstRun {
		t.Errorf("the empty page is there after %s, want %s at most", took, *firstRun)
	}

	if buttons := page.look("[...document.querySelectorAll('main button, main a.button')].filter(e => e.checkVisibility()).map(e => e.innerText).join('|')"); buttons != "Place a sample order" {
		t.Fatalf("the empty page has the buttons %q", buttons)
	}

	page.click(element("main button", "Place a sample order"), 1)
	page.sees("The way that it has taken")
	page.look("window.loaded = 'once'; 0")
	page.until("window.loaded + ' ' + document.querySelector('h1 .state').textContent", "once DELIVERED")

	// The way of its execution, too, a moment after that.
	page.until("window.loaded + ' ' + document.querySelector('.execution .state').textContent", "once SUCCEEDED")
	page.until("[...document.querySelectorAll('text.number')].map(e => e.textContent + ' ' + e.dataset.number).sort().join()",
		"1 Step Functions/Accept,2 Step Functions/Pay,3 Step Functions/AwaitShipped,4 Step Functions/AwaitDelivered")

	page.mu.Lock()
	defer page.mu.Unlock()

	if len(page.refused) > 0 {
		t.Errorf("refused, or failed: %v", page.refused)
	}
}

// TestAnOrderIsWatchedToItsEnd: `ratchet dev` prints a command that places an order, which a person sees on the overview and follows to its
// end. With -pictures, its page is kept as a picture.
func TestAnOrderIsWatchedToItsEnd(t *testing.T) {
	bin, dir := program.Self(t, "ratchet"), t.TempDir()
	env := []string{"RATCHET_LISTEN=" + program.FreeAddress(t), "RATCHET_API_LISTEN=127.0.0.1:0", "RATCHET_ADMIN_LISTEN=127.0.0.1:0"}
	dev := program.Process{Bin: bin, Args: []string{"dev"}, Env: env, Work: dir, Dir: t.TempDir(), Name: "dev"}.Start(t)
	dev.FirstLine(t)

	address := printed(t, dev, `\s(http://\S+/console/)\s`)
	create := strings.Fields(printed(t, dev, `\n +\S*ratchet (orders create .*)\n`))
	ratchet := func(args ...string) error {
		command := exec.CommandContext(t.Context(), bin, args...)
		command.Dir, command.Env = dir, append(os.Environ(), env...)

		out, err := command.CombinedOutput()
		t.Logf("ratchet %s: %v\n%s", strings.Join(args, " "), err, out)

		return err
	}

	page := openTab(t)
	page.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1280, "height": 1500, "deviceScaleFactor": 1, "mobile": false}, nil)
	page.open(address)
	page.sees("No order is here yet")

	if err := ratchet(create...); err != nil {
		t.Fatal(err)
	}
	page.sees("sample-1")
	page.click(element("main a", "sample-1"), 1)
	page.sees("The way that it has taken")
	page.look("window.loaded = 'once'; 0")
	page.until("window.loaded + ' ' + document.querySelector('h1 .state').textContent", "once DELIVERED")

	if err := ratchet("orders", "apply", "sample-1", "ship"); err == nil {
		t.Error("a delivered order is shipped")
	}
	page.until("window.loaded + ' ' + !!document.querySelector('.label.refused')", "once true")

	for _, scheme := range []string{"light", "dark"} {
		page.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
		page.keep(*pictures, map[string]string{"light": "console", "dark": "console-dark"}[scheme])
	}
}

// soon is how long a move may take until it is on a page that is followed. On an idle machine it is there within a second.
var soon = flag.Duration("soon", 10*time.Second, "the longest `time` until a move is on an order's page and in the list")

// TestAMoveIsSoonOnThePages: on that of its order, and in the list, without loading them again. The pages themselves take the time.
func TestAMoveIsSoonOnThePages(t *testing.T) {
	dev := program.Process{
		Bin: program.Self(t, "ratchet"), Args: []string{"dev", "--order-lists"}, Work: t.TempDir(), Dir: t.TempDir(), Name: "dev",
		Env: []string{"RATCHET_LISTEN=" + program.FreeAddress(t), "RATCHET_API_LISTEN=127.0.0.1:0", "RATCHET_ADMIN_LISTEN=127.0.0.1:0"},
	}.Start(t)
	dev.FirstLine(t)

	console := printed(t, dev, `\s(http://\S+/console/)\s`)
	page := openTab(t)
	page.open(console)
	page.click(element("main button", "Place a sample order"), 1)
	page.sees("The way that it has taken")
	order := page.look("location.pathname.split('/').pop()")
	tabs := map[string]string{}

	for path, state := range map[string]string{
		"orders/" + order: "document.querySelector('h1 .state')",
		"orders":          "[...document.querySelectorAll('main tr')].find(row => row.querySelector('a')?.textContent === '" + order + "')?.querySelector('.state')",
	} {
		tabs[path] = page.another(console + path)
		page.until("("+state+")?.textContent || ''", "DELIVERED")
		page.until(followed, "true")
		page.look(`window.loaded = 'once'; new MutationObserver(() => { if ((` + state + `)?.textContent === 'RETURN_REQUESTED') window.shown ||= Date.now() })
			.observe(document.querySelector('main'), {subtree: true, childList: true, characterData: true}); 0`)
	}

	began := time.Now()
	send(t, "POST", strings.TrimSuffix(console, "/console/")+"/v1/orders/"+order+"/transitions", `{"event":"request_return"}`, "return")

	for path, session := range tabs {
		page.session = session
		page.until("window.loaded + ' ' + !!window.shown", "once true")

		at, err := strconv.ParseInt(page.look("String(window.shown)"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}

		took := time.UnixMilli(at).Sub(began)
		if t.Logf("the move is on %s after %s", path, took); took > *soon {
			t.Errorf("the move is on %s after %s, want %s at most", path, took, *soon)
		}
	}
}

// printed waits until the process has printed what fits the pattern, and returns its group.
func printed(t *testing.T, p *program.Process, pattern string) string {
	t.Helper()

	for began := time.Now(); time.Since(began) < patience; <-time.After(20 * time.Millisecond) {
		text, err := os.ReadFile(p.Log())
		if err != nil {
			t.Fatal(err)
		}

		if found := regexp.MustCompile(pattern).FindSubmatch(bytes.ReplaceAll(text, []byte("\r"), nil)); found != nil {
			return string(found[1])
		}
	}
	t.Fatalf("%s prints nothing like %s: %s", p.Name, pattern, program.End(p.Log()))

	return ""
}

// TestThePagesAreThoseOfTheirDocument: each page in the table of docs/operate/console.md is in the navigation and leads to itself, and the
// table has all of them.
func TestThePagesAreThoseOfTheirDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/operate/console.md")
	if err != nil {
		t.Fatal(err)
	}

	table, _, _ := strings.Cut(string(text), "## Log in")
	var named []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([A-Z][^|]*) \|`).FindAllStringSubmatch(table, -1) {
		named = append(named, strings.Split(row[1], ", ")...)
	}

	address, _ := openConsole(t)
	page := openTab(t)
	page.open(address + "/console/")
	page.sees("Overview")

	entries := strings.Split(page.look("[...document.querySelectorAll('nav a')].map(a => a.innerText).join('\\n')"), "\n")
	if slices.Sort(entries); len(named) == 0 || !slices.Equal(entries, slices.Sorted(slices.Values(named))) {
		t.Errorf("the navigation has %q, the document %q", entries, named)
	}

	for _, name := range named {
		page.click(element("nav a", name), 1)
		page.until("document.readyState === 'complete' && document.querySelector('nav a[aria-current]')?.innerText || ''", name)
		page.until("!!document.querySelector('main h1')", "true")
	}
}
