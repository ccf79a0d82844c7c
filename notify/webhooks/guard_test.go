package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"ratchet/notify/webhooks"
)

// Addresses that no delivery of the default reach may go to. Nearly all are global
// unicast to net.IP.
var blocked = strings.Fields(`
0.0.0.0 0.0.0.1 0.255.255.255 10.0.0.0 10.1.2.3 10.255.255.255 100.64.0.0 100.64.0.1 100.100.100.200 100.127.255.255
168.63.129.16 ::ffff:168.63.129.16 127.0.0.0 127.0.0.1 127.0.0.53 127.1.2.3 127.255.255.255 169.254.0.0 169.254.0.1 169.254.169.253 169.254.169.254 169.254.170.2 169.254.255.255
172.16.0.0 172.16.0.1 172.31.255.255 192.0.0.0 192.0.0.8 192.0.0.170 192.0.0.192 192.0.0.255 192.0.2.0 192.0.2.1 192.0.2.255
192.31.196.1 192.52.193.1 192.88.99.0 192.88.99.1 192.88.99.255 192.168.0.0 192.168.0.1 192.168.255.255 192.175.48.1
198.18.0.0 198.18.0.1 198.19.255.255 198.51.100.0 198.51.100.7 198.51.100.255 203.0.113.0 203.0.113.9 203.0.113.255
224.0.0.0 224.0.0.1 239.255.255.255 240.0.0.0 240.0.0.1 255.255.255.254 255.255.255.255
:: ::1 ::2 ::127.0.0.1 ::10.0.0.1 ::169.254.169.254 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:192.168.1.1 ::ffff:0.0.0.0
::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8 64:ff9b:: 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b::8.8.8.8 64:ff9b:1:: 64:ff9b:1::1 64:ff9b:1:ffff::8.8.8.8
100:: 100::1 100:0:0:1::1 200::1 400::1 1000::1 1fff:ffff::1 2001:: 2001::1 2001:0:53aa:64c::1 2001:1::1 2001:1::2 2001:2::1 2001:3::1 2001:4:112::1
2001:5::1 2001:10::1 2001:20::1 2001:30::1 2001:1ff:ffff::1 2001:db8:: 2001:db8::1 2001:db8:ffff::1 2002:: 2002:a9fe:a9fe:: 2002:7f00:1:: 2002:808:808::1
2620:4f:8000::1 3ffe::1 3ffe:ffff::1 3fff:: 3fff::1 3fff:fff::1 4000::1 5f00:: 5f00::1 6000::1 8000::1 a000::1 c000::1 e000::1
fc00:: fc00::1 fd00::1 fd00:ec2::254 fdff:ffff::1 fe00::1 fe80:: fe80::1 fe80::a9fe:a9fe febf::1 fec0:: fec0::1 feff::1 ff00::1 ff02::1 ff0e::1 ffff::1
fe80::1%eth0 2606:4700:4700::1111%eth0 ::1%lo`)

var public = strings.Fields(`1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 169.253.255.255 169.255.0.0
172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0
203.0.112.255 203.0.114.0 223.255.255.255 2000::1 2001:200::1 2001:4860:4860::8888 2001:db7:ffff::1 2001:db9::1 2003::1 2606:4700:4700::1111 2a00:1450::1
3ffd:ffff::1 3fff:1000::1 ::ffff:8.8.8.8`)

func TestOnlyPublicAddressesAreReached(t *testing.T) {
	if n := len(blocked) + len(public); n < 150 {
		t.Fatalf("%d addresses", n)
	}

	for _, text := range blocked {
		if webhooks.ReachPublic.Permits(netip.AddrPortFrom(netip.MustParseAddr(text), 443)) {
			t.Errorf("%s is permitted", text)
		}
	}

	for _, text := range public {
		for port, want := range map[uint16]bool{443: true, 8443: true, 80: false, 22: false, 0: false, 6379: false} {
			for _, reach := range []webhooks.Reach{webhooks.ReachPublic, webhooks.ReachLoopback, webhooks.ReachPrivate} {
				if reach.Permits(netip.AddrPortFrom(netip.MustParseAddr(text), port)) != want {
					t.Errorf("%s: %s port %d: want %v", reach, text, port, want)
				}
			}
		}
	}

	if webhooks.ReachPrivate.Permits(netip.AddrPort{}) {
		t.Error("no address is permitted")
	}
}

func TestReachAllowsOnlyItsAddresses(t *testing.T) {
	for text, want := range map[string][2]bool{ // loopback, private
		"127.0.0.1": {true, true}, "::1": {true, true}, "::ffff:127.0.0.1": {true, true},
		"10.0.0.1": {false, true}, "172.16.0.1": {false, true}, "192.168.1.1": {false, true}, "fd00::1": {false, true}, "fd00:ec2::254": {false, false}, "fd20:ce::254": {false, false},
		"168.63.129.16": {false, false}, "::ffff:168.63.129.16": {false, false}, "100.100.100.200": {false, false}, "192.0.0.192": {false, false},
		"169.254.169.254": {false, false}, "fe80::1": {false, false}, "0.0.0.0": {false, false}, "::": {false, false},
		"100.64.0.1": {false, false}, "64:ff9b::a9fe:a9fe": {false, false}, "224.0.0.1": {false, false}, "2002:7f00:1::": {false, false},
	} {
		to := netip.AddrPortFrom(netip.MustParseAddr(text), 8080)
		if got := [2]bool{webhooks.ReachLoopback.Permits(to), webhooks.ReachPrivate.Permits(to)}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestCheckURLRefusesForbiddenAddresses(t *testing.T) {
	for _, good := range []string{"https://example.com", "https://example.com/", "https://example.com:8443/hook?x=1", "https://EXAMPLE.com./a",
		"https://8.8.8.8/", "https://[2606:4700:4700::1111]/", "https://bücher.example/", "https://xn--bcher-kva.example/", "https://a.b.c.d.e"} {
		if _, err := webhooks.ReachPublic.CheckURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}

	bad := []string{"", "example.com", "//example.com", "https:", "https://", "https:///path", "https:example.com", "http://example.com", "HTTP://example.com",
		"ftp://example.com", "file:///etc/passwd", "gopher://example.com", "javascript:alert(1)", "data:text/plain,x", "unix:///var/run/docker.sock",
		"https://user@example.com", "https://user:pass@example.com", "https://@example.com", "https://example.com@127.0.0.1/",
		"https://example.com#f", "https://example.com:80", "https://example.com:22", "https://example.com:0", "https://example.com:65536", "https://example.com:x",
		"https://exa mple.com", "https://example.com\n", "https://example.com\x00", "https://%31%32%37.0.0.1", "https://[::1", "https://[::1%25lo]/",
		"https://2130706433", "https://2130706433/", "https://017700000001", "https://0x7f000001", "https://0x7f.1", "https://0177.0.0.1", "https://127.1", "https://127.0.0.1.",
		"https://0", "https://0.", "https://1.1.1.256", "https://1.2.3.4.5", "https://.", "https://example.com..", "https://a.0x1", "https://a.99999999999999999999999",
		"https://example.com/" + strings.Repeat("a", 2048)}
	for _, text := range blocked {
		if strings.Contains(text, ":") {
			text = "[" + strings.Replace(text, "%", "%25", 1) + "]"
		}
		bad = append(bad, "https://"+text, "https://"+text+":8443/x")
	}

	for _, raw := range bad {
		_, err := webhooks.ReachPublic.CheckURL(raw)
		if !errors.Is(err, webhooks.ErrInvalid) && !errors.Is(err, webhooks.ErrBlocked) {
			t.Errorf("%q: %v", raw, err)
		}

		if err != nil && len(raw) > 12 && strings.Contains(err.Error(), raw) {
			t.Errorf("the error shows the URL: %v", err)
		}
	}

	for _, raw := range []string{"http://127.0.0.1:8080/x", "http://localhost:1", "http://[::1]:80"} {
		if _, err := webhooks.ReachLoopback.CheckURL(raw); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func client(t testing.TB, reach webhooks.Reach) *webhooks.Client {
	t.Helper()

	c, err := webhooks.NewClient(webhooks.ClientConfig{Keys: keysAt(t, vectorTime, secret(t, vectorSecret)), Reach: reach})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })

	return c
}

// The name is public when the URL is checked, and resolves to this machine when it is
// dialed: what a resolver under an attacker's control would answer.
func TestNameWithAnInternalAddressIsNotDialed(t *testing.T) {
	var reached atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()

	answered := rebindTo(t, [4]byte{127, 0, 0, 1})
	c := client(t, webhooks.ReachPublic)
	err := c.Deliver(t.Context(), "https://shop.example.test:8443/hook", "msg_1", nil, nil)
	if !errors.Is(err, webhooks.ErrBlocked) || reached.Load() != 0 {
		t.Errorf("%v, reached %d times", err, reached.Load())
	}

	if answered.Load() == 0 {
		t.Error("the name server was not asked: nothing was shown")
	}
}

// rebindTo makes every name resolve to the address.
func rebindTo(t *testing.T, to [4]byte) *atomic.Int32 {
	t.Helper()
	return resolve(t, func(string) netip.Addr { return netip.AddrFrom4(to) })
}

// resolve makes names resolve to addresses, by a name server of the test's own. It returns how often
// that was asked.
func resolve(t *testing.T, address func(name string) netip.Addr) *atomic.Int32 {
	t.Helper()

	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var answered atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)

		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			answered.Add(1)
			_, _ = conn.WriteTo(answer(buffer[:n], address), from)
		}
	}()
	previous := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp4", conn.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = previous
		_ = conn.Close()
		<-done
	})

	return &answered
}

// answer is the DNS answer to a query: one record of the address's type (A or AAAA), none of any
// other type.
func answer(query []byte, address func(name string) netip.Addr) []byte {
	const a, aaaa = 1, 28

	var labels []string
	end := 12
	for query[end] != 0 {
		labels = append(labels, string(query[end+1:end+1+int(query[end])]))
		end += int(query[end]) + 1
	}
	to := address(strings.Join(labels, "."))

	asked := byte(a)
	if to.Is6() {
		asked = aaaa
	}

	out := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end+5]...)
	if query[end+2] == asked {
		out[7] = 1
		out = append(out, 0xc0, 12, 0, asked, 0, 1, 0, 0, 0, 0, 0, byte(to.BitLen()/8))
		out = append(out, to.AsSlice()...)
	}

	return out
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var followed atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			followed.Add(1)
		}
		http.Redirect(w, r, "/latest/meta-data", http.StatusTemporaryRedirect)
	}))
	defer server.Close()

	err := client(t, webhooks.ReachLoopback).Deliver(t.Context(), server.URL, "msg_1", nil, nil)
	var status *webhooks.StatusError
	if !errors.As(err, &status) || status.Status != http.StatusTemporaryRedirect || followed.Load() != 0 {
		t.Errorf("%v, followed %d times", err, followed.Load())
	}
}

func TestEachDeliveryHasItsOwnSignature(t *testing.T) {
	keys := keysAt(t, vectorTime, secret(t, vectorSecret))
	var ids []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m, err := keys.Read(r, 1<<10)
		if err != nil || string(m.Body) != vectorBody || r.Header.Get("Idempotency-Key") != "k" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %+v, %v, headers %v", m, err, r.Header)
		}
		ids = append(ids, m.ID)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()

	c := client(t, webhooks.ReachLoopback)
	for range 2 {
		if err := c.Deliver(t.Context(), server.URL, "msg_1", []byte(vectorBody), http.Header{"Idempotency-Key": {"k"}, webhooks.HeaderID: {"forged"}}); err != nil {
			t.Fatal(err)
		}
	}

	if fmt.Sprint(ids) != "[msg_1 msg_1]" {
		t.Errorf("ids %v", ids)
	}
}

func TestAnswerIsBoundedAndNotInTheError(t *testing.T) {
	status, after := 0, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", after)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(strings.Repeat("canary ", 1<<14)))
	}))
	defer server.Close()

	c := client(t, webhooks.ReachLoopback)
	for _, test := range []struct {
		status int
		after  string
		gone   bool
		wait   string
	}{{500, "", false, "0s"}, {429, "7", false, "7s"}, {503, "99999999", false, "24h0m0s"}, {503, "soon", false, "0s"}, {410, "", true, "0s"}} {
		status, after = test.status, test.after
		err := c.Deliver(t.Context(), server.URL+"/canary", "msg_1", nil, nil)
		var got *webhooks.StatusError
		if !errors.As(err, &got) || got.Status != test.status || errors.Is(err, webhooks.ErrGone) != test.gone || got.RetryAfter.String() != test.wait {
			t.Errorf("%d: %v (%+v)", test.status, err, got)
		}

		if strings.Contains(err.Error(), "canary") {
			t.Errorf("the error repeats the endpoint: %v", err)
		}
	}
	server.Close()

	if err := c.Deliver(t.Context(), server.URL+"/canary", "msg_1", nil, nil); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("the error shows the URL: %v", err)
	}

	if _, err := webhooks.NewClient(webhooks.ClientConfig{Reach: "everywhere"}); !errors.Is(err, webhooks.ErrInvalid) {
		t.Errorf("an unknown reach: %v", err)
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, raw := range []string{"https://example.com", "https://0x7f.1", "https://[::1]", "http://u:p@h:1/?#f", "https://2130706433"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := webhooks.ReachPublic.CheckURL(raw)
		if err != nil {
			return
		}

		if ip, err := netip.ParseAddr(u.Hostname()); u.Scheme != "https" || u.User != nil || u.Hostname() == "" ||
			(err == nil && !webhooks.ReachPublic.Permits(netip.AddrPortFrom(ip, 443))) {
			t.Errorf("%q was taken", raw)
		}
	})
}
