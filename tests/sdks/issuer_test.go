//go:build sdks

package sdks

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ratchet/tests/program"
)

const audience = "https://orders.example"

// client sends requests as a browser does, one address at a time, and does not follow redirects.
type client struct {
	t       *testing.T
	cookies map[string]map[string]string // by address; ports have cookies of their own here
}

// send sends a request. A form makes it a POST.
func (c *client) send(address string, form url.Values, header map[string]string) (*http.Response, string) {
	c.t.Helper()

	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}

	r, err := http.NewRequestWithContext(c.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		c.t.Fatal(err)
	}

	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}

	for name, value := range header {
		r.Header.Set(name, value)
	}

	for name, value := range c.cookies[r.URL.Host] {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}

	once := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

	answer, err := once.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()

	text, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}

	for _, cookie := range answer.Cookies() {
		if c.cookies[r.URL.Host] == nil {
			c.cookies[r.URL.Host] = map[string]string{}
		}
		c.cookies[r.URL.Host][cookie.Name] = cookie.Value
	}

	return answer, string(text)
}

// token returns an access token of one of the issuer's machine clients.
func (c *client) token(issuer, id string) string {
	c.t.Helper()

	form := url.Values{"grant_type": {"client_credentials"}, "scope": {"ratchet:read"}, "client_id": {id}, "client_secret": {"s3cret"}}
	_, text := c.send(issuer+"/token", form, nil)

	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Token == "" {
		c.t.Fatalf("a token of %s: %s", id, text)
	}

	return answer.Token
}

// startIssuer starts npm's oidc-provider and returns when it answers.
func startIssuer(t *testing.T, sdks, address, redirect string) {
	t.Helper()

	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}

	issuer := exec.CommandContext(t.Context(), "node", "issuer.mjs", port, audience, redirect)
	issuer.Env = append(os.Environ(), "SDK="+filepath.Join(sdks, "js"))
	issuer.Cancel = func() error { return issuer.Process.Signal(os.Interrupt) }

	out, err := issuer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := issuer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = issuer.Wait() }) // it was interrupted

	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "ready at") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return
		}
	}
	t.Fatal("the issuer does not start")
}

// nodeRuns reports whether the Node of this machine runs oidc-provider, which needs version 20.
func nodeRuns(t *testing.T) bool {
	t.Helper()

	out, err := exec.CommandContext(t.Context(), "node", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}

	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")

	n, err := strconv.Atoi(major)
	if err != nil {
		t.Fatal(err)
	}

	return n >= 20
}

// TestALiveIssuer: `ratchet serve` starts without its issuer, says so, takes the issuer's tokens as soon as it answers, and
// refuses those of another kind. A person logs in to the console there.
func TestALiveIssuer(t *testing.T) {
	sdks := install(t)

	if !nodeRuns(t) {
		fmt.Fprintln(os.Stderr, "sdks: this Node is older than version 20, so NO login at a live issuer was tried")
		t.Skip("Node is too old for oidc-provider")
	}

	api, admin, issuerAddress := program.FreeAddress(t), program.FreeAddress(t), program.FreeAddress(t)
	issuer, server := "http://"+issuerAddress, "http://"+api
	dir := t.TempDir()
	c := &client{t: t, cookies: map[string]map[string]string{}}

	serve := program.Process{
		Bin:  program.Build(t),
		Args: []string{"serve", "--json", "--api-listen", api, "--admin-listen", admin, "--endpoint-url", startDev(t), "--notify", "none"},
		Env: []string{
			"RATCHET_AUTH_ISSUER=" + issuer, "RATCHET_AUTH_AUDIENCE=" + audience,
			"RATCHET_CONSOLE_CLIENT_ID=console", "RATCHET_CONSOLE_CLIENT_SECRET=s3cret", "RATCHET_CONSOLE_SCOPES=ratchet:act", "RATCHET_CONSOLE_MAX_SCOPE=act",
		},
		Dir: dir, Name: "serve",
	}.Start(t)
	serve.FirstLine(t)

	orders := func(token string) (int, string) {
		answer, text := c.send(server+"/v1/orders?limit=1", nil, map[string]string{"Authorization": "Bearer " + token})
		return answer.StatusCode, text
	}

	// The check is there as soon as the API is.
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		answer, text := c.send("http://"+admin+"/readyz", nil, nil)
		if answer.StatusCode == http.StatusOK && strings.Contains(text, "tokens are answered with 503") {
			break
		}

		if time.Now().After(end) {
			t.Fatalf("readiness without the issuer: %d %s", answer.StatusCode, text)
		}
	}

	// A token of no issuer that is known: whether it is good is not known yet.
	if status, text := orders("eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.eyJpc3MiOiJ4In0.AAAA"); status != http.StatusServiceUnavailable {
		t.Errorf("a token without the issuer: %d %s", status, text)
	}

	startIssuer(t, sdks, issuerAddress, server+"/console/login/callback")

	good := c.token(issuer, "good")
	// The server waits between its attempts to read the issuer's keys.
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		status, text := orders(good)
		if status == http.StatusOK {
			break
		}

		if status != http.StatusServiceUnavailable || time.Now().After(end) {
			t.Fatalf("a good token: %d %s", status, text)
		}
	}

	for id, want := range map[string]int{
		"scp": http.StatusOK, "in-another-case": http.StatusUnauthorized, "critical": http.StatusUnauthorized, "security-event": http.StatusUnauthorized,
		"bound": http.StatusUnauthorized, "another-audience": http.StatusUnauthorized, "without-scope": http.StatusUnauthorized,
	} {
		if status, text := orders(c.token(issuer, id)); status != want {
			t.Errorf("a token %s: %d %s, want %d", id, status, text, want)
		}
	}

	c.logIn(server)
	serve.Stop(t)
}

// logIn goes the way of a browser: from the console to the issuer, through its pages, and back.
func (c *client) logIn(server string) {
	c.t.Helper()

	at := server + "/console/login/provider"
	for step := range 20 {
		answer, text := c.send(at, nil, nil)

		switch to := answer.Header.Get("Location"); {
		case to != "":
			at = resolve(c.t, at, to)
			continue
		// The pages of the issuer for a login and for a consent.
		case strings.Contains(text, `name="prompt" value="login"`):
			answer, _ = c.send(at, url.Values{"prompt": {"login"}, "login": {"ann"}, "password": {"any"}}, nil)
		case strings.Contains(text, `name="prompt" value="consent"`):
			answer, _ = c.send(at, url.Values{"prompt": {"consent"}}, nil)
		case strings.HasPrefix(at, server) && answer.StatusCode == http.StatusOK:
			if _, text := c.send(server+"/console/orders", nil, nil); !strings.Contains(text, "default · act · oidc:ann") {
				c.t.Errorf("the console does not say who is logged in: %s", text)
			}

			return
		default:
			c.t.Fatalf("step %d, at %s: %d %s", step, at, answer.StatusCode, text)
		}
		at = resolve(c.t, at, answer.Header.Get("Location"))
	}
	c.t.Fatal("the login has no end")
}

func resolve(t *testing.T, base, to string) string {
	t.Helper()

	from, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}

	next, err := from.Parse(to)
	if err != nil || to == "" {
		t.Fatal(fmt.Errorf("from %s to %q: %w", base, to, err))
	}

	return next.String()
}
