//go:build browser

package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// tab is a page of a browser that is driven over a pipe, by mouse and keyboard.
type tab struct {
	t       *testing.T
	ctx     context.Context
	to      *os.File
	session string

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply
	// refused are what the policy of the page has refused, and errors of scripts.
	refused []string
}

// reply is an answer, or an event, of the browser.
type reply struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct{ Message string }
}

// openTab starts a browser with one page. It ends with the test.
func openTab(t *testing.T) *tab {
	t.Helper()

	return openTabFor(t, patience)
}

// openTabFor is openTab with a time after which the browser ends.
func openTabFor(t *testing.T, patience time.Duration) *tab {
	t.Helper()

	shell, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		t.Fatalf("%v: make browser installs it", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)

	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}

	back, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}

	browser := exec.CommandContext(ctx, shell, "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--window-size=1200,900", "--remote-debugging-pipe", "about:blank")
	browser.ExtraFiles = []*os.File{theirs, answers} // 3 and 4
	browser.WaitDelay = 5 * time.Second

	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = theirs.Close(), answers.Close() // the browser has its own

	b := &tab{t: t, ctx: ctx, to: ours, waiting: map[int]chan reply{}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(back)
	}()
	t.Cleanup(func() {
		cancel()

		_ = browser.Wait() // it was killed
		_ = ours.Close()
		<-read
		_ = back.Close()
	})

	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)

	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID

	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(domain+".enable", nil, nil)
	}

	return b
}

// read reads answers and events until the browser ends.
func (b *tab) read(from *os.File) {
	for in := bufio.NewReader(from); ; {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}

		var r reply
		if json.Unmarshal(text[:len(text)-1], &r) != nil {
			continue
		}

		b.mu.Lock()
		if r.Method == "Runtime.exceptionThrown" || r.Method == "Log.entryAdded" && strings.Contains(string(r.Params), "Content Security Policy") {
			b.refused = append(b.refused, string(r.Params))
		}

		if answer := b.waiting[r.ID]; answer != nil && r.ID != 0 {
			delete(b.waiting, r.ID)
			answer <- r
		}
		b.mu.Unlock()
	}
}

// call asks the browser, and ends the test if it refuses.
func (b *tab) call(method string, params map[string]any, into any) {
	b.t.Helper()

	if refusal := b.ask(method, params, into); refusal != "" {
		b.t.Fatalf("%s: %s", method, refusal)
	}
}

// ask asks the browser, and returns why it refuses.
func (b *tab) ask(method string, params map[string]any, into any) (refusal string) {
	b.t.Helper()

	answer := make(chan reply, 1)
	b.mu.Lock()
	b.last++
	request := map[string]any{"id": b.last, "method": method, "params": params}
	if params == nil {
		request["params"] = map[string]any{}
	}

	if b.session != "" {
		request["sessionId"] = b.session
	}
	b.waiting[b.last] = answer
	b.mu.Unlock()

	text, err := json.Marshal(request)
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}

	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}

	select {
	case r := <-answer:
		if r.Error != nil {
			return r.Error.Message
		}

		if into != nil {
			if err := json.Unmarshal(r.Result, into); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
	case <-b.ctx.Done():
		b.t.Fatalf("%s: the browser does not answer", method)
	}

	return ""
}

// look evaluates an expression on the page, which is "" while another page is loaded.
func (b *tab) look(expression string) string {
	b.t.Helper()

	var found struct{ Result struct{ Value any } }
	refusal := b.ask("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &found)

	if refusal != "" && !strings.Contains(refusal, "context") { // of another page, or of none yet
		b.t.Fatalf("%s: %s", expression, refusal)
	}

	if found.Result.Value == nil {
		return ""
	}

	return fmt.Sprint(found.Result.Value)
}

// until waits until the expression has the value.
func (b *tab) until(expression, want string) {
	b.t.Helper()

	got := ""
	for began := time.Now(); time.Since(began) < patience/4; <-time.After(20 * time.Millisecond) {
		if got = b.look(expression); got == want {
			return
		}
	}
	b.t.Fatalf("%s is %q, want %q, on\n%s", expression, got, want, b.look("document.body?.innerText"))
}

// sees waits until the page has the text.
func (b *tab) sees(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.readyState === 'complete' && document.body.innerText.includes(%q)", text), "true")
}

// another opens a further tab in front of the others, and returns its session. From then on the calls are for it.
func (b *tab) another(url string) (session string) {
	b.t.Helper()
	b.session = "" // the browser itself

	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": url}, &target)

	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.call("Page.bringToFront", nil, nil)

	return b.session
}

func (b *tab) open(url string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": url}, nil)
}

// element is an expression for the first element of the selector whose text begins so.
func element(selector, text string) string {
	return fmt.Sprintf("[...document.querySelectorAll(%q)].find(e => (e.innerText || '').startsWith(%q))", selector, text)
}

// click clicks in the middle of the element, as often as wanted.
func (b *tab) click(element string, times int) {
	b.t.Helper()
	b.until("!!("+element+")", "true")

	var at struct{ X, Y float64 }
	place := b.look("(() => { const e = " + element + "; e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return JSON.stringify({x: r.x + r.width / 2, y: r.y + r.height / 2}) })()")
	if err := json.Unmarshal([]byte(place), &at); err != nil {
		b.t.Fatalf("%s: %v", place, err)
	}

	for n := range times {
		for _, kind := range []string{"mousePressed", "mouseReleased"} {
			b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": n + 1}, nil)
		}
	}
}

// write types a text into what has the focus.
func (b *tab) write(text string) {
	b.t.Helper()
	b.call("Input.insertText", map[string]any{"text": text}, nil)
}

// press presses a key.
func (b *tab) press(key string, code int) {
	b.t.Helper()

	text := ""
	if key == "Enter" {
		text = "\r"
	}

	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text}, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
}

func (b *tab) enter() {
	b.t.Helper()
	b.press("Enter", 13)
}

// tabTo presses Tab until the element has the focus.
func (b *tab) tabTo(element string) {
	b.t.Helper()
	b.until("!!("+element+")", "true")

	for range 200 {
		if b.look("document.activeElement === "+element) == "true" {
			return
		}
		b.press("Tab", 9)
	}
	b.t.Fatalf("%s cannot be reached by the keyboard", element)
}
