package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"ratchet/api/auth"
	"ratchet/console"
	"ratchet/server"
)

// browser sends requests as a browser does that shows pages of the console at url.
type browser struct {
	t       *testing.T
	url     string
	cookies map[string]string
	// header are set beside those of a browser, or in place of them; "Host" is the host that is named.
	header map[string]string
}

// send sends a request with a form, nil for none, and does not follow redirects.
func (b *browser) send(method, path string, form url.Values) (answer *http.Response, body string) {
	b.t.Helper()

	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")

	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.url)
	}

	// Not the jar of net/http, which keeps secure cookies from loopback addresses.
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}

	for name, value := range b.header {
		switch {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}

	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

	answer, err = client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()

	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}

	return answer, string(text)
}

// login returns a browser that is logged in with a new key.
func login(t *testing.T, address string, b *server.Backend, tenant auth.Tenant, scope auth.Scope) (*browser, auth.Key) {
	t.Helper()

	key, token, err := b.APIKeys.Create(t.Context(), auth.NewKey{Name: "me", Tenant: tenant, Scope: scope})
	if err != nil {
		t.Fatal(err)
	}

	w := &browser{t: t, url: address, cookies: map[string]string{}}

	answer, body := w.send(http.MethodPost, console.Path+"/login", url.Values{"key": {string(token)}, "return": {"/console/orders"}}) //nolint:bodyclose // the browser of the test has read and closed it
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/console/orders" {
		t.Fatalf("login: %d to %q\n%.500s", answer.StatusCode, answer.Header.Get("Location"), body)
	}

	for _, c := range answer.Cookies() {
		w.cookies[c.Name] = c.Value
	}

	return w, key
}

// TestEveryDoorOfTheLogin: each kind of request of the console, with each set of headers, from a stranger, another tenant, and
// each scope. Only a page of the console at an allowed host gets what the session may see, and nothing but the console
// takes the session.
func TestEveryDoorOfTheLogin(t *testing.T) {
	address, b := consoleServerWith(t, false, server.ConsoleConfig{MaxScope: "admin"})

	visitors := map[string]*browser{"a stranger": {t: t, url: address, cookies: map[string]string{}}}
	for _, scope := range []auth.Scope{auth.Read, auth.Act, auth.Admin} {
		visitors[string(scope)], _ = login(t, address, b, auth.DefaultTenant, scope)
	}
	visitors["another tenant"], _ = login(t, address, b, "acme", auth.Admin)

	acts := actNames(t)

	before, _, err := b.Orders.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}

	// What the door says for each set of headers: to reads, and to writes.
	doors := []struct {
		about         string
		header        map[string]string
		reads, writes int // 0: it lets them pass
	}{
		{"the console's own page", nil, 0, 0},
		{"no word of a browser", map[string]string{"Sec-Fetch-Site": "", "Origin": ""}, 0, 403},
		{"the address bar", map[string]string{"Sec-Fetch-Site": "none", "Origin": ""}, 0, 403},
		{"only an origin", map[string]string{"Sec-Fetch-Site": "", "Origin": address}, 0, 0},
		{"another site", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, 403},
		{"a neighbor", map[string]string{"Sec-Fetch-Site": "same-site"}, 403, 403},
		{"another origin", map[string]string{"Sec-Fetch-Site": "", "Origin": "https://evil.test"}, 403, 403},
		{"no origin that has a name", map[string]string{"Sec-Fetch-Site": "", "Origin": "null"}, 403, 403},
		{"both, and they differ", map[string]string{"Origin": "https://evil.test"}, 0, 403},
		{"a name that was bound again", map[string]string{"Host": "evil.test", "Origin": "http://evil.test"}, 421, 421},
	}

	for _, door := range doors {
		for who, visitor := range visitors {
			visitor.header = door.header
			about := fmt.Sprintf("%s, %s", door.about, who)
			stranger := who == "a stranger"

			want := func(what string, door, otherwise int, answer *http.Response) {
				t.Helper()

				if door == 0 {
					door = otherwise
				}

				if answer.StatusCode != door {
					t.Errorf("%s: %s: %d, want %d", about, what, answer.StatusCode, door)
				}
			}

			// A page: strangers are sent to the login, another tenant finds nothing.
			seen := map[bool]int{true: http.StatusSeeOther, false: http.StatusOK}[stranger]
			if who == "another tenant" {
				seen = http.StatusNotFound
			}
			answer, body := visitor.send(http.MethodGet, console.Path+"/orders/o-1", nil) //nolint:bodyclose // the browser of the test has read and closed it
			want("a page", door.reads, seen, answer)

			if strings.Contains(body, "ON_HOLD") != (answer.StatusCode == http.StatusOK) {
				t.Errorf("%s: the page has %.300s", about, body)
			}

			// The audit is for administrators.
			seen = map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[who == "admin" || who == "another tenant"]
			if stranger {
				seen = http.StatusSeeOther
			}
			answer, _ = visitor.send(http.MethodGet, console.Path+"/audit", nil) //nolint:bodyclose // the browser of the test has read and closed it
			want("the audit", door.reads, seen, answer)

			// A stream of a stranger.
			if stranger {
				answer, _ = visitor.send(http.MethodGet, console.Path+"/live/orders/o-1", nil) //nolint:bodyclose // the browser of the test has read and closed it
				want("a stream", door.reads, http.StatusUnauthorized, answer)
			}

			// Writes.
			answer, _ = visitor.send(http.MethodPost, console.Path+"/login", url.Values{"key": {"rk_nonsense"}}) //nolint:bodyclose // the browser of the test has read and closed it
			if answer.StatusCode == http.StatusTooManyRequests {
				answer.StatusCode = http.StatusUnauthorized // it was looked at, which is what counts here
			}
			want("a login", door.writes, http.StatusUnauthorized, answer)

			answer, _ = visitor.send(http.MethodPost, console.Path+"/logout", nil) //nolint:bodyclose // the browser of the test has read and closed it
			want("a logout", door.writes, http.StatusSeeOther, answer)

			// Every page, and every act: a closed door shows and does nothing, and an open one nothing without a reason.
			for _, page := range []string{"/", "/stuck", "/orders", "/workflow", "/stream", "/dead-letters?handler=notify", "/deliveries", "/executions", "/jobs", "/docs"} {
				answer, _ = visitor.send(http.MethodGet, console.Path+page, nil) //nolint:bodyclose // the browser of the test has read and closed it
				want("page "+page, door.reads, answer.StatusCode, answer)
			}

			for _, act := range acts {
				form := url.Values{"order": {"o-1"}, "event": {"release"}, "handler": {"notify"}, "endpoint": {"shop"}, "key": {"k-1"}}
				answer, body = visitor.send(http.MethodPost, console.Path+"/act/"+act, form) //nolint:bodyclose // the browser of the test has read and closed it
				want("act "+act, door.writes, answer.StatusCode, answer)

				if answer.StatusCode < http.StatusBadRequest || strings.Contains(body, "Done.") {
					t.Errorf("%s: act %s without a reason: %d", about, act, answer.StatusCode)
				}

				// With a reason, and by a scope that does not suffice.
				if form.Set("reason", "test"); who == "read" || stranger || door.writes != 0 {
					if answer, _ = visitor.send(http.MethodPost, console.Path+"/act/"+act, form); answer.StatusCode < http.StatusBadRequest { //nolint:bodyclose // the browser of the test has read and closed it
						t.Errorf("%s: act %s: %d", about, act, answer.StatusCode)
					}
				}
			}

			// The API takes no session, whatever the door says.
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				answer, _ = visitor.send(method, "/v1/orders", nil) //nolint:bodyclose // the browser of the test has read and closed it
				if answer.StatusCode < 400 || len(answer.Cookies()) > 0 {
					t.Errorf("%s: %s /v1/orders: %d", about, method, answer.StatusCode)
				}
			}

			// The provider's way back is open for other origins, and refuses who has begun nothing.
			answer, _ = visitor.send(http.MethodGet, console.Path+"/login/callback?code=x&state=y", nil) //nolint:bodyclose // the browser of the test has read and closed it
			if answer.StatusCode < 400 || hasSession(answer) {
				t.Errorf("%s: the callback: %d, %v", about, answer.StatusCode, answer.Cookies())
			}
		}
	}

	// Nothing has changed.
	if order, _, err := b.Orders.Get(t.Context(), "o-1"); err != nil || string(order.State) != "ON_HOLD" || order.ContentVersion != before.ContentVersion {
		t.Errorf("the order: %+v, %v", order, err)
	}

	for _, tenant := range []string{"", "acme"} {
		if all, _, err := b.Jobs.List(t.Context(), tenant, "", 10); err != nil || len(all) != 0 {
			t.Errorf("jobs of %q: %+v, %v", tenant, all, err)
		}
	}
}

// actNames are the names of all acts of the console, as its sources have them.
func actNames(t *testing.T) (all []string) {
	t.Helper()

	for name, pattern := range map[string]string{"acts.go": `name: "([a-z-]+)", title: `, "jobs.go": `kind: "([a-z-]+)", title: `, "questions.go": `name: "([a-z-]+)", title: `} {
		text, err := os.ReadFile("../console/" + name)
		if err != nil {
			t.Fatal(err)
		}

		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			all = append(all, found[1])
		}
	}

	if len(all) < 30 {
		t.Fatalf("only %d acts: %v", len(all), all)
	}

	return append(all, "pause-job", "resume-job", "stop-job")
}

// hasSession reports whether an answer begins a session.
func hasSession(answer *http.Response) bool {
	for _, c := range answer.Cookies() {
		if strings.Contains(c.Name, "session") && c.MaxAge > 0 {
			return true
		}
	}

	return false
}

// TestASessionIsOfItsTenantAndItsInstallation: the cookie of another tenant shows that tenant's orders, and the cookie of another
// installation nothing.
func TestASessionIsOfItsTenantAndItsInstallation(t *testing.T) {
	address, b := consoleServer(t, false)
	other, c := consoleServer(t, false)

	acme, _ := login(t, address, b, "acme", auth.Admin)
	if answer, body := acme.send(http.MethodGet, console.Path+"/orders", nil); answer.StatusCode != http.StatusOK || strings.Contains(body, "o-1<") || !strings.Contains(body, "acme · read") { //nolint:bodyclose // the browser of the test has read and closed it
		t.Errorf("another tenant: %d\n%.2000s", answer.StatusCode, body)
	}

	stranger, _ := login(t, other, c, auth.DefaultTenant, auth.Admin)
	stranger.url = address

	if answer, _ := stranger.send(http.MethodGet, console.Path+"/orders", nil); answer.StatusCode != http.StatusSeeOther { //nolint:bodyclose // the browser of the test has read and closed it
		t.Errorf("a session of another installation: %d", answer.StatusCode)
	}

	// After a logout the browser has no cookie.
	answer, _ := acme.send(http.MethodPost, console.Path+"/logout", nil) //nolint:bodyclose // the browser of the test has read and closed it
	if answer.StatusCode != http.StatusSeeOther || len(answer.Cookies()) != 1 || answer.Cookies()[0].MaxAge >= 0 {
		t.Errorf("logout: %d, %v", answer.StatusCode, answer.Cookies())
	}
}

// TestARevokedKeyEndsThePagesThatFollow, and the pages that are opened afterwards. The page says so.
func TestARevokedKeyEndsThePagesThatFollow(t *testing.T) {
	address, b := consoleServer(t, false)
	visitor, key := login(t, address, b, auth.DefaultTenant, auth.Read)

	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+console.Path+"/live/orders/o-1", nil)
	if err != nil {
		t.Fatal(err)
	}

	for name, value := range visitor.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()

	lines, revoked, said := bufio.NewReader(answer.Body), time.Time{}, false

	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		said = said || strings.Contains(line, "Your login has ended")

		if revoked.IsZero() && strings.Contains(line, "ON_HOLD") {
			if err := b.APIKeys.Revoke(t.Context(), key.ID); err != nil {
				t.Fatal(err)
			}
			revoked = time.Now()
		}
	}

	// 5 s until the key is read again, 2 s until the login is looked at, and what a busy machine takes.
	if took := time.Since(revoked); revoked.IsZero() || !said || took > 3*time.Minute {
		t.Errorf("the stream ended %s after the revocation, and said so: %t", took, said)
	} else {
		t.Logf("it ended after %s", took)
	}

	if page, _ := visitor.send(http.MethodGet, console.Path+"/orders/o-1", nil); page.StatusCode != http.StatusSeeOther || !strings.HasPrefix(page.Header.Get("Location"), "/console/login?return=%2Fconsole%2Forders%2Fo-1") { //nolint:bodyclose // the browser of the test has read and closed it
		t.Errorf("a page afterwards: %d to %s", page.StatusCode, page.Header.Get("Location"))
	}
}
