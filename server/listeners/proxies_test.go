package listeners

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ratchet/internal/clientnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTheClientIsTheFirstThatIsNoProxy reads the chains of proxies, with what clients may put before them.
func TestTheClientIsTheFirstThatIsNoProxy(t *testing.T) {
	for _, row := range []struct {
		what, source, peer string
		header             http.Header
		client             string
	}{
		{"a proxy names its client", xForwardedFor, "10.0.0.1", http.Header{"X-Forwarded-For": {"192.0.2.1"}}, "192.0.2.1"},
		{"a client put an address before it", xForwardedFor, "10.0.0.1", http.Header{"X-Forwarded-For": {"198.51.100.9, 192.0.2.1"}}, "192.0.2.1"},
		{"two proxies", xForwardedFor, "10.0.0.1", http.Header{"X-Forwarded-For": {"198.51.100.9,192.0.2.1, 10.0.0.2"}}, "192.0.2.1"},
		{"in two headers", xForwardedFor, "10.0.0.1", http.Header{"X-Forwarded-For": {"192.0.2.1", "10.0.0.2"}}, "192.0.2.1"},
		{"only proxies: the first one asks itself", xForwardedFor, "10.0.0.1", http.Header{"X-Forwarded-For": {"10.0.0.3, 10.0.0.2"}}, "10.0.0.3"},
		{"with a port", xForwardedFor, "10.0.0.1", http.Header{"X-Forwarded-For": {"192.0.2.1:5000"}}, "192.0.2.1"},
		{"IPv6", xForwardedFor, "10.0.0.1", http.Header{"X-Forwarded-For": {"[2001:db8::1]:5000"}}, "2001:db8::1"},
		{"IPv4 in IPv6", xForwardedFor, "::ffff:10.0.0.1", http.Header{"X-Forwarded-For": {"::ffff:192.0.2.1"}}, "192.0.2.1"},
		{"another peer forges it", xForwardedFor, "192.0.2.7", http.Header{"X-Forwarded-For": {"192.0.2.1"}}, "192.0.2.7"},
		{"the other header", xForwardedFor, "10.0.0.1", http.Header{"Forwarded": {"for=192.0.2.1"}}, "10.0.0.1"},
		{"no address", xForwardedFor, "10.0.0.1", http.Header{"X-Forwarded-For": {"192.0.2.1, unknown"}}, "10.0.0.1"},
		{"nothing", xForwardedFor, "10.0.0.1", nil, "10.0.0.1"},
		{"empty elements", xForwardedFor, "10.0.0.1", http.Header{"X-Forwarded-For": {",,,"}}, "10.0.0.1"},
		{"RFC 7239", forwarded, "10.0.0.1", http.Header{"Forwarded": {`for=198.51.100.9, proto=https;For="[2001:db8::1]:99";by=10.0.0.1`}}, "2001:db8::1"},
		{"hidden by RFC 7239", forwarded, "10.0.0.1", http.Header{"Forwarded": {"for=192.0.2.1, for=_hidden"}}, "10.0.0.1"},
		{"without for", forwarded, "10.0.0.1", http.Header{"Forwarded": {"proto=https"}}, "10.0.0.1"},
		{"the other header of RFC 7239", forwarded, "10.0.0.1", http.Header{"X-Forwarded-For": {"192.0.2.1"}}, "10.0.0.1"},
		{"the PROXY protocol ignores headers", proxyProtocol, "10.0.0.1", http.Header{"X-Forwarded-For": {"192.0.2.1"}, "Forwarded": {"for=192.0.2.1"}}, "10.0.0.1"},
	} {
		proxies, err := NewProxies(row.source, "10.0.0.0/8")
		if err != nil {
			t.Fatal(err)
		}

		var got string
		handler := proxies.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr }))

		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = net.JoinHostPort(row.peer, "1234")
		r.Header = row.header
		handler.ServeHTTP(httptest.NewRecorder(), r)

		if client, _ := clientnet.Addr(got); client.String() != row.client {
			t.Errorf("%s: the client is %s, want %s", row.what, got, row.client)
		}
	}
}

func TestProxiesNeedBothSettings(t *testing.T) {
	for _, row := range []struct {
		source  string
		trusted []string
		ok      bool
	}{
		{"", nil, true},
		{"", []string{"10.0.0.1"}, false},
		{xForwardedFor, nil, false},
		{"x-real-ip", []string{"10.0.0.1"}, false},
		{forwarded, []string{"balancer"}, false},
		{forwarded, []string{"10.0.0.1/33"}, false},
		{proxyProtocol, []string{"10.0.0.1", "fd00::/8", "2001:db8::1"}, true},
	} {
		if _, err := NewProxies(row.source, row.trusted...); (err == nil) != row.ok {
			t.Errorf("%+v: %v", row, err)
		}
	}
}

// v2 returns a header of version 2.
func v2(command, family byte, rest string) string {
	return proxyV2 + string([]byte{0x20 | command, family, byte(len(rest) >> 8), byte(len(rest))}) + rest
}

func TestHeadersOfTheProxyProtocol(t *testing.T) {
	four := "\xc0\x00\x02\x01" + "\x0a\x00\x00\x01" + "\x13\x88" + "\x01\xbb"

	for _, row := range []struct {
		what, bytes string
		client      string // "" for none
		ok          bool
	}{
		{"version 1", "PROXY TCP4 192.0.2.1 10.0.0.1 5000 443\r\n", "192.0.2.1:5000", true},
		{"version 1 with IPv6", "PROXY TCP6 2001:db8::1 fd00::1 5000 443\r\n", "[2001:db8::1]:5000", true},
		{"version 1 without an address", "PROXY UNKNOWN\r\n", "", true},
		{"version 2", v2(1, 0x11, four), "192.0.2.1:5000", true},
		{"version 2 with extensions", v2(1, 0x11, four+"\x04\x00\x01x"), "192.0.2.1:5000", true},
		{"version 2 with IPv6", v2(1, 0x21, "\x20\x01\x0d\xb8"+strings.Repeat("\x00", 11)+"\x01"+strings.Repeat("\x00", 16)+"\x13\x88\x01\xbb"), "[2001:db8::1]:5000", true},
		{"a check of the proxy's own", v2(0, 0, ""), "", true},
		{"a Unix socket", v2(1, 0x31, strings.Repeat("\x00", 216)), "", true},
		{"no header", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "", false},
		{"nothing", "", "", false},
		{"a line without an end", "PROXY TCP4 " + strings.Repeat("1", 200), "", false},
		{"a line that ends early", "PROXY TCP4 1.2.3.4", "", false},
		{"no address", "PROXY TCP4 evil 10.0.0.1 5000 443\r\n", "", false},
		{"no port", "PROXY TCP4 192.0.2.1 10.0.0.1 99999 443\r\n", "", false},
		{"another version", proxyV2 + "\x11\x11\x00\x0c" + four, "", false},
		{"too short", v2(1, 0x11, "\xc0\x00"), "", false},
		{"cut off", v2(1, 0x11, four)[:20], "", false},
		{"much too long", proxyV2 + "\x21\x11\xff\xff", "", false},
	} {
		client, err := readProxyHeader(bufio.NewReader(strings.NewReader(row.bytes + "")))

		got := ""
		if client.IsValid() {
			got = client.String()
		}

		if (err == nil) != row.ok || got != row.client || err != nil && !errors.Is(err, errNoProxyHeader) {
			t.Errorf("%s: %q, %v", row.what, got, err)
		}
	}
}

// serve serves on a loopback address behind the proxies and answers with the client.
func serve(t *testing.T, proxies *Proxies, maxPerClient int) string {
	t.Helper()

	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	ended := make(chan struct{})
	s := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: proxies.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.RemoteAddr)
		})),
	}

	go func() {
		defer close(ended)
		_ = s.Serve(Limit(inner, proxies, 100, maxPerClient))
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-ended
	})

	return inner.Addr().String()
}

// say sends text and returns what is answered until the connection ends or stays quiet.
func say(t *testing.T, address, text string) (conn net.Conn, answer string) {
	t.Helper()

	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })

	if _, err := io.WriteString(conn, text); err != nil {
		return conn, ""
	}

	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return conn, ""
	}
	defer response.Body.Close()

	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return conn, ""
	}

	return conn, string(raw)
}

const get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

// TestTrustedConnectionsBeginWithTheProxyProtocol: the client is in the header, and without a header there is no answer.
func TestTrustedConnectionsBeginWithTheProxyProtocol(t *testing.T) {
	proxies, err := NewProxies(proxyProtocol, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	address := serve(t, proxies, 2)

	if _, got := say(t, address, "PROXY TCP4 192.0.2.1 10.0.0.1 5000 443\r\n"+get); got != "192.0.2.1:5000" {
		t.Errorf("the client is %q", got)
	}

	if _, got := say(t, address, get); got != "" {
		t.Errorf("without a header: %q", got)
	}

	// One client has two connections at most, and others are not affected.
	for i, want := range []string{"192.0.2.2:5000", "192.0.2.2:5000", "", ""} {
		if _, got := say(t, address, "PROXY TCP4 192.0.2.2 10.0.0.1 5000 443\r\n"+get); got != want {
			t.Errorf("connection %d of a client: %q", i, got)
		}
	}

	if _, got := say(t, address, "PROXY TCP4 192.0.2.3 10.0.0.1 5000 443\r\n"+get); got != "192.0.2.3:5000" {
		t.Errorf("another client: %q", got)
	}
}

// TestOtherPeersCannotUseTheProxyProtocol: their connection is HTTP from its first byte.
func TestOtherPeersCannotUseTheProxyProtocol(t *testing.T) {
	proxies, err := NewProxies(proxyProtocol, "10.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	address := serve(t, proxies, 10)

	if _, got := say(t, address, get); !strings.HasPrefix(got, "127.0.0.1:") {
		t.Errorf("a peer that is no proxy: %q", got)
	}

	if _, got := say(t, address, "PROXY TCP4 192.0.2.1 10.0.0.1 5000 443\r\n"+get); strings.HasPrefix(got, "192.0.2.1") {
		t.Errorf("a peer that forges the header: %q", got)
	}
}

// TestAProxyHasMoreConnectionsThanAClient: all clients behind it share its address.
func TestAProxyHasMoreConnectionsThanAClient(t *testing.T) {
	proxies, err := NewProxies(xForwardedFor, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	address := serve(t, proxies, 1)

	for range 3 {
		if _, got := say(t, address, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n"); got != "192.0.2.1:0" {
			t.Errorf("the client is %q", got)
		}
	}
}
