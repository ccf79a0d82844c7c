package listeners

import (
	"io"
	"net"
	"testing"
	"time"
)

// open dials from the address and reports whether the connection stays open.
func open(t *testing.T, from string, to net.Addr) (net.Conn, bool) {
	t.Helper()

	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), "tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })

	if err := conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	_, err = io.ReadFull(conn, b) // the server sends a byte on each connection that it accepts

	return conn, err == nil
}

func TestOneAddressCannotTakeAllConnections(t *testing.T) {
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Limit(inner, nil, 3, 2)
	ended := make(chan struct{})
	accepted := make(chan net.Conn, 10)
	go func() {
		defer close(ended)

		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("x")) // the client may have gone
			accepted <- conn
		}
	}()
	defer func() { _ = l.Close(); <-ended }()

	for i, c := range []struct {
		from string
		want bool
	}{
		{from: "127.0.0.1", want: true},
		{from: "127.0.0.1", want: true},
		{from: "127.0.0.1", want: false}, // the address has two
		{from: "127.0.0.2", want: true},
		{from: "127.0.0.3", want: false}, // there are three
	} {
		if _, got := open(t, c.from, inner.Addr()); got != c.want {
			t.Errorf("connection %d, from %s: open %t", i, c.from, got)
		}
	}

	first := <-accepted
	for range 2 { // closing a connection twice releases one place
		_ = first.Close()
	}

	if _, got := open(t, "127.0.0.3", inner.Addr()); !got {
		t.Error("a closed connection still counts")
	}

	if _, got := open(t, "127.0.0.1", inner.Addr()); got {
		t.Error("a fourth connection stayed open")
	}

	for range 3 {
		_ = (<-accepted).Close()
	}
}
