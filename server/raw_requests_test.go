package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/server"
)

// own stands for the listener's own answer to its request.
const own = 0

// isOwn reports whether the status is the answer to a good request: 200, or 401 without a credential, of which a client may
// get so many only.
func isOwn(status int) bool {
	return slices.Contains([]int{http.StatusOK, http.StatusUnauthorized, http.StatusTooManyRequests}, status)
}

// rawKind is a request as a stranger may write it. The text has $LINE for the request line of the listener, $PATH for
// its path, and $HEADERS for headers that its request needs.
type rawKind struct {
	what, text string
	status     []int
}

// rawKinds are the kinds that TestEveryListenerAnswersStrangers tries.
func rawKinds() (all []rawKind) {
	add := func(what, text string, status ...int) { all = append(all, rawKind{what, text, status}) }
	with := func(what, headers string, status ...int) {
		add(what, "$LINE HTTP/1.1\r\nHost: localhost\r\n$HEADERS"+headers+"\r\n$BODY", status...)
	}
	host := func(name string, status ...int) {
		add("the host "+name, "$LINE HTTP/1.1\r\nHost: "+name+"\r\n$HEADERS\r\n$BODY", status...)
	}

	for _, name := range []string{"LOCALHOST", "localhost.", "LocalHost.:80", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8700", "[fe80::1%25eth0]:80", "a.b.LOCALHOST.", "orders.EXAMPLE.com.:443"} {
		host(name, own)
	}

	for _, name := range []string{"EVIL.example.", "evil.example:8700", "127.0.0.1.evil.example", "localhostevil.example", "0x7f.1", "orders.example.com.evil.example", "sync-evil.example", "xn--lcalhost-n4a", ""} {
		host(name, http.StatusMisdirectedRequest)
	}
	host("localhost/evil.example", http.StatusBadRequest, http.StatusMisdirectedRequest)
	host("evil.example@127.0.0.1", http.StatusBadRequest, http.StatusMisdirectedRequest)
	host("local host", http.StatusBadRequest)
	add("no host", "$LINE HTTP/1.1\r\n$HEADERS\r\n$BODY", http.StatusBadRequest)
	add("two hosts", "$LINE HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n$HEADERS\r\n$BODY", http.StatusBadRequest)
	add("a foreign target", "POST http://evil.example$PATH HTTP/1.1\r\nHost: localhost\r\n$HEADERS\r\n$BODY", http.StatusMisdirectedRequest)

	with("a null origin", "Origin: null\r\n", http.StatusForbidden)
	with("two origins", "Origin: http://localhost\r\nOrigin: http://localhost\r\n", http.StatusForbidden)
	with("an origin without a host", "Origin: file://\r\n", http.StatusForbidden)
	with("its own origin", "Origin: http://localhost\r\n", own)
	with("an origin of another port", "Origin: http://localhost:81\r\n", http.StatusForbidden)
	with("two kinds of sites", "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\n", http.StatusForbidden)
	with("an unknown kind of site", "Sec-Fetch-Site: SAME-ORIGIN\r\n", http.StatusForbidden)

	with("a thousand hops", "X-Forwarded-For: "+strings.Repeat("10.0.0.1, ", 1000)+"10.0.0.2\r\n", own)
	with("hops that hide", "Forwarded: for=_hidden;by=unknown;host=evil.example;proto=https, for=\"[2001:db8::1%25x]:_port\"\r\n", own)
	with("a host of a proxy", "X-Forwarded-Host: evil.example\r\nX-Original-URL: /debug/pprof/heap\r\nX-Rewrite-URL: /console/\r\n", own)
	with("another method", "X-HTTP-Method-Override: DELETE\r\nX-HTTP-Method: DELETE\r\nX-Method-Override: DELETE\r\n", own)
	with("an upgrade to WebSocket", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", own)
	with("an upgrade to HTTP/2", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n", own)
	with("4,096 cookies", "Cookie: "+strings.Repeat("a=b; ", 4096)+"c=d\r\n", own, http.StatusRequestHeaderFieldsTooLarge)
	with("a long name of a header", strings.Repeat("X", 200<<10)+": a\r\n", http.StatusRequestHeaderFieldsTooLarge)
	with("20,000 headers", strings.Repeat("a:b\r\n", 20_000), http.StatusRequestHeaderFieldsTooLarge)
	with("a header without a name", ": a\r\n", http.StatusBadRequest)
	with("a folded header", "X-A: a\r\n b\r\n", own, http.StatusBadRequest)

	smuggled := "POST $PATH HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n"
	add(smuggling, smuggled+"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n", append([]int{own, http.StatusUnprocessableEntity}, refused...)...)
	add("two lengths", smuggled+"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", http.StatusBadRequest)
	add("an unknown encoding", smuggled+"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", http.StatusBadRequest, http.StatusNotImplemented)
	add("a blank before the colon", smuggled+"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", http.StatusBadRequest)
	add("another protocol", "$LINE HTTP/3.0\r\nHost: localhost\r\n\r\n", http.StatusHTTPVersionNotSupported)
	add("HTTP/2 without TLS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", http.StatusBadRequest, http.StatusMisdirectedRequest, http.StatusHTTPVersionNotSupported)
	add("no method", " / HTTP/1.1\r\nHost: localhost\r\n\r\n", http.StatusBadRequest)
	add("a tunnel", "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n", refused...)
	add("a trace", "TRACE $PATH HTTP/1.1\r\nHost: localhost\r\n\r\n", refused...)
	add("no path", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", append([]int{http.StatusOK}, refused...)...)

	for _, path := range []string{"/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2f", "//evil.example/%2e%2e", "/\\evil.example", "/%00", "/%", "/v1/orders/%2f%2f", "/v1//orders", "/;/metrics", "/debug/pprof/..;/../x"} {
		add("the path "+path, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n", append([]int{http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}, refused...)...)
	}

	return all
}

// smuggling is a request whose end depends on the header that a server believes. The connection ends after its answer, so that
// what follows is no request.
const smuggling = "a length and chunks"

// refused are the answers to what a listener does not serve.
var refused = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusMisdirectedRequest, http.StatusTooManyRequests}

// raw sends the text, ends it, and returns the first answer. At the end of the text the client writes no more.
// A server that sheds load for the work of other tests is asked again.
func (s served) raw(t *testing.T, text string) (status int, location string, err error) {
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
		if status, location, err = s.rawOnce(t, text); status != http.StatusServiceUnavailable {
			break
		}
	}

	return status, location, err
}

func (s served) rawOnce(t *testing.T, text string) (status int, location string, err error) {
	line, body, headers := "GET "+s.path, "", ""
	if s.target != "" {
		line, body, headers = "POST "+s.path, "{}", "X-Amz-Target: "+s.target+"\r\nContent-Length: 2\r\n"
	}
	text = strings.NewReplacer("$LINE", line, "$BODY", body, "$HEADERS", headers, "$PATH", s.path).Replace(text)

	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return 0, "", err
	}
	defer conn.Close()

	// Every answer comes at once; the rest is for a busy machine.
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return 0, "", err
	}

	var writing sync.WaitGroup
	defer writing.Wait()
	writing.Go(func() {
		_, _ = io.WriteString(conn, text) // it fails if the answer came before
		_ = conn.(*net.TCPConn).CloseWrite()
	})

	in := bufio.NewReader(conn)

	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()

	_, _ = io.Copy(io.Discard, answer.Body) // the rest of an answer is cut off if the server does not read the request to its end

	if second, err := http.ReadResponse(in, nil); err == nil {
		_ = second.Body.Close()
		return 0, "", fmt.Errorf("after %s, a second answer: %s", answer.Status, second.Status)
	}

	return answer.StatusCode, answer.Header.Get("Location"), nil
}

// TestEveryListenerAnswersStrangers walks all listeners and all kinds of requests that a stranger may write. Each has a
// defined answer, none leads to another host, and the listener answers as before.
func TestEveryListenerAnswersStrangers(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	for _, s := range everyListener(t, server.NetworkConfig{AllowedHosts: []string{"orders.example.com"}}) {
		for _, kind := range rawKinds() {
			status, location, err := s.raw(t, kind.text)

			answered := slices.Contains(kind.status, status) || slices.Contains(kind.status, own) && isOwn(status)
			if err != nil || !answered {
				t.Errorf("%s: %s: %d, %v, want %v", s.name, kind.what, status, err, kind.status)
			}

			if strings.HasPrefix(location, "//") || strings.Contains(location, "\\") || strings.Contains(location, "://") {
				t.Errorf("%s: %s leads to %s", s.name, kind.what, location)
			}
		}

		if status, _, err := s.raw(t, "$LINE HTTP/1.1\r\nHost: localhost\r\n$HEADERS\r\n$BODY"); err != nil || !isOwn(status) {
			t.Errorf("%s: afterwards: %d, %v", s.name, status, err)
		}
	}
}

// TestEveryListenerCutsSlowStrangersOff: headers that come byte by byte, and a body that was announced and never comes.
func TestEveryListenerCutsSlowStrangersOff(t *testing.T) {
	var group sync.WaitGroup
	defer group.Wait()

	for _, s := range everyListener(t, server.NetworkConfig{}) {
		address := strings.TrimPrefix(s.url, "http://")

		for what, text := range map[string]string{
			"headers without an end": "GET " + s.path + " HTTP/1.1\r\nHost: localhost\r\nX-A: ",
			"an expected body":       "POST " + s.path + " HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
		} {
			group.Go(func() {
				if err := untilCutOff(t, address, text); err != nil {
					t.Errorf("%s: %s: %v", s.name, what, err)
				}
			})
		}
	}
}

// untilCutOff sends the text, and then a byte each second if it has no end, until the other side ends the connection.
func untilCutOff(t *testing.T, address, text string) error {
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()

	// 5 s for headers, 15 s for a body that pauses.
	if err := conn.SetDeadline(time.Now().Add(90 * time.Second)); err != nil {
		return err
	}

	if _, err := io.WriteString(conn, text); err != nil {
		return err
	}

	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, conn)
		ended <- err
	}()

	for every := time.Tick(time.Second); ; {
		select {
		case err := <-ended:
			if timeout, is := err.(net.Error); is && timeout.Timeout() {
				return fmt.Errorf("the connection stays open: %w", err)
			}

			return nil
		case <-every:
			if !strings.HasSuffix(text, "\r\n\r\n") {
				_, _ = io.WriteString(conn, "a")
			}
		}
	}
}
