package door

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// arrive returns a request that came through a socket with the local address.
func arrive(t *testing.T, method, at, host string, header http.Header) *http.Request {
	t.Helper()

	local := &net.TCPAddr{IP: net.ParseIP(at), Port: 8700}
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, local), method, "/x", http.NoBody)
	r.Host = host

	for name, values := range header {
		r.Header[name] = values
	}

	return r
}

func TestHosts(t *testing.T) {
	named := []string{"api.example.com", "Other.Example:443", "::2"}

	for _, row := range []struct {
		what, at, host string
		hosts          []string
		passes         bool
	}{
		{"an address", "127.0.0.1", "127.0.0.1:8700", nil, true},
		{"another address: no page has one as its name", "127.0.0.1", "10.0.0.1", nil, true},
		{"IPv6", "::1", "[::1]:8700", nil, true},
		{"IPv6 with a zone", "127.0.0.1", "[fe80::1%eth0]:8700", nil, true},
		{"localhost", "127.0.0.1", "localhost:8700", nil, true},
		{"in capitals, with the dot of a full name", "127.0.0.1", "LOCALHOST.:8700", nil, true},
		{"below localhost", "127.0.0.1", "orders.localhost:8700", nil, true},
		{"the prefix of an SDK", "127.0.0.1", "sync-localhost:8700", nil, true},
		{"the prefix of an SDK before an address", "127.0.0.1", "sync-127.0.0.1:8700", nil, true},
		{"the name of a page", "127.0.0.1", "evil.example:8700", nil, false},
		{"a name with an address in it", "127.0.0.1", "127.0.0.1.evil.example", nil, false},
		{"a name that ends like localhost", "127.0.0.1", "evillocalhost", nil, false},
		{"localhost as a part", "127.0.0.1", "localhost.evil.example", nil, false},
		{"the prefix before the name of a page", "127.0.0.1", "sync-evil.example", nil, false},
		{"no name", "127.0.0.1", "", nil, false},
		{"a listed name", "127.0.0.1", "API.example.com:8700", named, true},
		{"a listed name with a port", "127.0.0.1", "other.example", named, true},
		{"a listed name with the prefix", "127.0.0.1", "sync-api.example.com", named, true},
		{"a name that is not listed", "127.0.0.1", "evil.example", named, false},
		{"any name on another address", "10.0.0.1", "engine:8700", nil, true},
		{"any name on another address, with a list", "10.0.0.1", "evil.example", named, false},
		{"a listed name on another address", "10.0.0.1", "api.example.com", named, true},
		{"an address on another address, with a list", "10.0.0.1", "10.0.0.1:8700", named, true},
	} {
		err := New(Config{AllowedHosts: row.hosts}).Check(arrive(t, http.MethodPost, row.at, row.host, nil))
		if (err == nil) != row.passes || err != nil && !errors.Is(err, ErrHost) {
			t.Errorf("%s (%q on %s): %v, passes: %v", row.what, row.host, row.at, err, row.passes)
		}
	}
}

func TestOrigins(t *testing.T) {
	for _, row := range []struct {
		what   string
		header http.Header
		passes bool
	}{
		{"a program", nil, true},
		{"a page of this address", http.Header{"Sec-Fetch-Site": {"same-origin"}}, true},
		{"a person who typed the address", http.Header{"Sec-Fetch-Site": {"none"}}, true},
		{"a page of another site", http.Header{"Sec-Fetch-Site": {"cross-site"}}, false},
		{"a page of another port", http.Header{"Sec-Fetch-Site": {"same-site"}}, false},
		{"both", http.Header{"Sec-Fetch-Site": {"same-origin", "cross-site"}}, false},
		{"an old browser, this origin", http.Header{"Origin": {"http://127.0.0.1:8700"}}, true},
		{"an old browser, another origin", http.Header{"Origin": {"http://evil.example"}}, false},
		{"an old browser, another port", http.Header{"Origin": {"http://127.0.0.1:3000"}}, false},
		{"a page without an origin", http.Header{"Origin": {"null"}}, false},
		{"two origins", http.Header{"Origin": {"http://127.0.0.1:8700", "http://evil.example"}}, false},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
			err := New(Config{}).Check(arrive(t, method, "127.0.0.1", "127.0.0.1:8700", row.header))
			if (err == nil) != row.passes || err != nil && !errors.Is(err, ErrOrigin) {
				t.Errorf("%s of %s: %v, passes: %v", method, row.what, err, row.passes)
			}
		}
	}
}

func TestACallInTheProcessPasses(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://evil.example/", http.NoBody)
	if err := New(Config{}).Check(r); err != nil {
		t.Error(err)
	}
}

// TestAProbePassesWithoutItsText: a balancer may name any host, and a page must learn nothing from it.
func TestAProbePassesWithoutItsText(t *testing.T) {
	d := New(Config{Probes: []string{"/x"}})
	handler := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("secret"))
	}))

	for _, row := range []struct {
		method, host string
		status       int
		text         bool
	}{
		{http.MethodGet, "balancer.example", http.StatusServiceUnavailable, false},
		{http.MethodGet, "localhost", http.StatusServiceUnavailable, true},
		{http.MethodPost, "balancer.example", http.StatusMisdirectedRequest, false},
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, arrive(t, row.method, "127.0.0.1", row.host, nil))

		if w.Code != row.status || (w.Body.String() == "secret") != row.text {
			t.Errorf("%s for %s: %d %q", row.method, row.host, w.Code, w.Body)
		}
	}
}
