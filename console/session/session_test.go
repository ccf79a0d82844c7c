package session_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ratchet/api/auth"
	"ratchet/console/session"
	"ratchet/embedded/embeddedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var secret = bytes.Repeat([]byte{7}, 32)

// newKeys returns the keys of a new table.
func newKeys(t *testing.T) *auth.Keys {
	t.Helper()

	keys, err := auth.NewKeys(auth.KeysConfig{DynamoDB: embeddedtest.DynamoDB(t, auth.TableInput("keys")), Table: "keys"})
	if err != nil {
		t.Fatal(err)
	}

	return keys
}

func newLogin(t *testing.T, keys *auth.Keys, change func(*session.Config)) *session.Login {
	t.Helper()

	cfg := session.Config{Keys: keys, Secrets: [][]byte{secret}, MaxScope: auth.Admin, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}

	l, err := session.New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	return l
}

// request returns a request that came to a loopback address, with the cookies that an answer has set.
func request(t *testing.T, target string, cookies ...*http.Cookie) *http.Request {
	t.Helper()

	ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80})
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil)

	for _, c := range cookies {
		if c.MaxAge >= 0 {
			r.AddCookie(c)
		}
	}

	return r
}

const first = "http://127.0.0.1/console/"

// create returns a key.
func create(t *testing.T, keys *auth.Keys, tenant auth.Tenant, scope auth.Scope, expires time.Time) (auth.Key, string) {
	t.Helper()

	key, token, err := keys.Create(t.Context(), auth.NewKey{Name: "me", Tenant: tenant, Scope: scope, Expires: expires})
	if err != nil {
		t.Fatal(err)
	}

	return key, string(token)
}

// withKey returns the cookies of a login with a key.
func withKey(t *testing.T, l *session.Login, token string) []*http.Cookie {
	t.Helper()

	w := httptest.NewRecorder()
	if err := l.WithKey(w, request(t, first), token); err != nil {
		t.Fatal(err)
	}

	return w.Result().Cookies()
}

// TestASessionHasTheLeastScope of setting, key and cookie, and the tenant of the key.
func TestASessionHasTheLeastScope(t *testing.T) {
	keys := newKeys(t)

	for _, row := range []struct{ key, most, want auth.Scope }{
		{auth.Admin, auth.Read, auth.Read},
		{auth.Admin, auth.Act, auth.Act},
		{auth.Admin, auth.Admin, auth.Admin},
		{auth.Read, auth.Admin, auth.Read},
	} {
		key, token := create(t, keys, "acme", row.key, time.Time{})
		l := newLogin(t, keys, func(c *session.Config) { c.MaxScope = row.most })

		by, known := l.Identify(request(t, first, withKey(t, l, token)...))
		if want := (auth.Principal{ID: "key:" + key.ID, Tenant: "acme", Scope: row.want}); !known || by.Principal != want || by.Via != "console" || by.Valid(t.Context()) != nil {
			t.Errorf("key %s, at most %s: %+v, known %t", row.key, row.most, by.Principal, known)
		}
	}

	// A setting that was lowered counts for sessions that are there.
	_, token := create(t, keys, "acme", auth.Admin, time.Time{})
	cookies := withKey(t, newLogin(t, keys, nil), token)

	if by, _ := newLogin(t, keys, func(c *session.Config) { c.MaxScope = auth.Read }).Identify(request(t, first, cookies...)); by.Scope != auth.Read {
		t.Errorf("scope %q", by.Scope)
	}
}

// TestTheCookieOfASession has what browsers need to keep it safe, and not the key.
func TestTheCookieOfASession(t *testing.T) {
	keys := newKeys(t)
	_, token := create(t, keys, "acme", auth.Read, time.Time{})

	cookies := withKey(t, newLogin(t, keys, nil), token)
	if len(cookies) != 1 {
		t.Fatalf("%v", cookies)
	}

	c := cookies[0]
	if !strings.HasPrefix(c.Name, "__Host-") || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.MaxAge > 8*3600 || c.MaxAge < 8*3600-60 {
		t.Errorf("%+v", c)
	}

	if strings.Contains(c.Value, "acme") || strings.Contains(c.Value, token[:19]) {
		t.Errorf("the cookie can be read: %s", c.Value)
	}
}

// TestACookieThatWasNotSealedHereIsRefused: changed, cut, of another secret, of another purpose, or twice.
func TestACookieThatWasNotSealedHereIsRefused(t *testing.T) {
	keys := newKeys(t)
	_, token := create(t, keys, "acme", auth.Read, time.Time{})
	l := newLogin(t, keys, nil)
	good := withKey(t, l, token)[0]

	with := func(value string) []*http.Cookie { return []*http.Cookie{{Name: good.Name, Value: value}} }
	changed := []byte(good.Value)
	changed[20] ^= 1

	for about, cookies := range map[string][]*http.Cookie{
		"none": nil, "empty": with(""), "cut": with(good.Value[:len(good.Value)-4]), "one bit": with(string(changed)), "twice": {good, good},
		"longer": with(good.Value + "AAAA"), "the key": with(token), "of the other cookie": {{Name: "__Host-ratchet-login", Value: good.Value}},
	} {
		if _, known := l.Identify(request(t, first, cookies...)); known {
			t.Errorf("%s: accepted", about)
		}
	}

	other := newLogin(t, keys, func(c *session.Config) { c.Secrets = [][]byte{bytes.Repeat([]byte{8}, 32)} })
	if _, known := other.Identify(request(t, first, good)); known {
		t.Error("another secret opens the cookie")
	}

	// A new secret in front of the old one.
	rotated := newLogin(t, keys, func(c *session.Config) { c.Secrets = [][]byte{bytes.Repeat([]byte{8}, 32), secret} })
	if _, known := rotated.Identify(request(t, first, good)); !known {
		t.Error("a rotation of the secret has ended the session")
	}
}

// TestASessionEnds with its key: revoked within 5 s, expired at once, and after 8 hours in any case.
func TestASessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := newKeys(t)
		l := newLogin(t, keys, nil)
		revoked, token := create(t, keys, "acme", auth.Read, time.Time{})
		_, short := create(t, keys, "acme", auth.Read, time.Now().Add(time.Hour))
		_, long := create(t, keys, "acme", auth.Read, time.Time{})

		of := map[string][]*http.Cookie{"revoked": withKey(t, l, token), "short": withKey(t, l, short), "long": withKey(t, l, long)}
		known := func(name string) bool {
			_, known := l.Identify(request(t, first, of[name]...))
			return known
		}

		by, _ := l.Identify(request(t, first, of["revoked"]...))
		if err := keys.Revoke(t.Context(), revoked.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)

		if known("revoked") || !errors.Is(by.Valid(t.Context()), auth.ErrRefused) || !known("short") {
			t.Error("the session of a revoked key goes on")
		}

		time.Sleep(time.Hour)

		if known("short") || !known("long") {
			t.Error("the session of an expired key goes on")
		}

		time.Sleep(7 * time.Hour)

		if known("long") {
			t.Error("a session goes on after 8 hours")
		}
	})
}

// TestLoginsThatAreRefusedAreLimited for their network, which gets its tries back.
func TestLoginsThatAreRefusedAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := newKeys(t)
		l := newLogin(t, keys, nil)
		_, token := create(t, keys, "acme", auth.Read, time.Time{})

		try := func(from, key string) error {
			r := request(t, first)
			r.RemoteAddr = from + ":4711"
			return l.WithKey(httptest.NewRecorder(), r, key)
		}

		for range 10 {
			if err := try("192.0.2.1", "rk_nonsense"); !errors.Is(err, session.ErrRefused) {
				t.Fatal(err)
			}
		}

		if err := try("192.0.2.1", token); !errors.Is(err, session.ErrTooMany) {
			t.Errorf("an eleventh: %v", err)
		}

		if err := try("192.0.2.2", token); err != nil {
			t.Errorf("another network: %v", err)
		}
		time.Sleep(6 * time.Second)

		if err := try("192.0.2.1", token); err != nil {
			t.Errorf("later: %v", err)
		}
	})
}

// TestALoginNeedsAWayThatNoOneReads.
func TestALoginNeedsAWayThatNoOneReads(t *testing.T) {
	keys := newKeys(t)
	_, token := create(t, keys, "acme", auth.Read, time.Time{})
	from := func(ip net.IP, host string) *http.Request {
		r := request(t, first)
		r.Host = host

		return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: ip, Port: 80}))
	}
	behind := func(c *session.Config) { c.URL = "https://console.example" }
	published := func(c *session.Config) { c.URL = "http://127.0.0.1:8701" }

	for _, row := range []struct {
		about  string
		change func(*session.Config)
		r      *http.Request
		ok     bool
	}{
		{"this machine", nil, from(net.IPv6loopback, "localhost"), true},
		{"another machine", nil, from(net.IPv4(10, 0, 0, 1), "10.0.0.1"), false},
		{"a proxy with TLS", behind, from(net.IPv4(10, 0, 0, 1), "console.example"), true},
		{"a container's port, published on this machine", published, from(net.IPv4(172, 17, 0, 2), "127.0.0.1:8701"), true},
		{"the container's own address", published, from(net.IPv4(172, 17, 0, 2), "172.17.0.2:8701"), false},
		{"past the proxy", behind, from(net.IPv4(10, 0, 0, 1), "10.0.0.1"), false},
	} {
		l := newLogin(t, keys, row.change)
		if err := l.WithKey(httptest.NewRecorder(), row.r, token); (err == nil) != row.ok || !row.ok && !errors.Is(err, session.ErrPlain) {
			t.Errorf("%s: %v", row.about, err)
		}
	}

	// A session that was begun over TLS is not accepted without.
	l := newLogin(t, keys, nil)
	r := from(net.IPv4(10, 0, 0, 1), "10.0.0.1")
	r.AddCookie(withKey(t, l, token)[0])

	if _, known := l.Identify(r); known {
		t.Error("a session over plain HTTP")
	}
}

// TestAddressesOfTheConsole: plain HTTP only on the browser's own machine.
func TestAddressesOfTheConsole(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://console.example": true, "https://10.0.0.1:8443": true, "http://127.0.0.1:8701": true, "http://[::1]:8701": true, "http://localhost": true,
		"http://console.example": false, "http://10.0.0.1": false, "http://127.0.0.1.example": false, "http://127.0.0.1:8701/": false,
		"https://a:b@console.example": false, "ftp://127.0.0.1": false, "127.0.0.1:8701": false, "": false,
	} {
		if session.ValidURL(text) != ok {
			t.Errorf("%q: valid %t", text, !ok)
		}
	}
}

// TestTheWayBackIsLocal.
func TestTheWayBackIsLocal(t *testing.T) {
	for _, good := range []string{"/console/", "/console/orders?state=ON_HOLD&cursor=a%2Fb", "/console/orders/o%2F1"} {
		if session.Local(good) != good {
			t.Errorf("%s leads to %s", good, session.Local(good))
		}
	}

	for _, bad := range []string{
		"", "/", "//evil.test", "/\\evil.test", "https://evil.test/console/", "/console//evil.test", "/console/\\evil.test", "/console/../v1", "/console/%2e%2e/v1", "/console/.%2e/v1", "/console/%2E./v1", "/console/./login", "/console/\t/evil.test",
		"/v1/orders", "/consoleX", "console/", "javascript:alert(1)", "/console/x\r\nSet-Cookie: a=b", "/console/logout", "/console/login", "/console/live/orders", " /console/", "/console/x\x00",
	} {
		if got := session.Local(bad); got != "/console/" {
			t.Errorf("%q leads to %q", bad, got)
		}
	}
}

func TestAConfigurationThatBreaksARule(t *testing.T) {
	keys := newKeys(t)
	for about, change := range map[string]func(*session.Config){
		"no keys":        func(c *session.Config) { c.Keys = nil },
		"no secret":      func(c *session.Config) { c.Secrets = nil },
		"a short secret": func(c *session.Config) { c.Secrets = [][]byte{secret, secret[:31]} },
		"no scope":       func(c *session.Config) { c.MaxScope = "" },
		"no log":         func(c *session.Config) { c.Log = nil },
		"plain HTTP":     func(c *session.Config) { c.URL = "http://console.example" },
		"a path":         func(c *session.Config) { c.URL = "https://console.example/x" },
	} {
		cfg := session.Config{Keys: keys, Secrets: [][]byte{secret}, MaxScope: auth.Read, Log: slog.New(slog.DiscardHandler)}
		change(&cfg)

		if _, err := session.New(cfg); err == nil {
			t.Errorf("%s: accepted", about)
		}
	}
}
