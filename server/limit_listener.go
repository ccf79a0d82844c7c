package server

import (
	"net"
	"sync"
)

// Limits on open connections to the HTTP API. An idle connection costs about 13 KB. All connections of a
// reverse proxy have one address; a proxy needs far fewer connections than the limit.
const (
	maxConnections           = 4096
	maxConnectionsPerAddress = 1024
)

// limitListener is a listener that closes a new connection at once if there are too many.
type limitListener struct {
	net.Listener
	max, maxPerAddress int

	mu        sync.Mutex
	open      int
	byAddress map[string]int // open connections; addresses without any are absent
}

func newLimitListener(inner net.Listener, maxOpen, maxPerAddress int) *limitListener {
	return &limitListener{
		Listener:      inner,
		max:           maxOpen,
		maxPerAddress: maxPerAddress,
		byAddress:     map[string]int{},
	}
}

// Accept returns the next connection within the limits.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}

		address, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err != nil {
			address = conn.RemoteAddr().String()
		}

		if l.acquire(address) {
			// OnceFunc, because net/http may close a connection several times.
			return &countedConn{Conn: conn, release: sync.OnceFunc(func() { l.release(address) })}, nil
		}

		_ = conn.Close() // nothing was read from it
	}
}

// acquire counts a connection from the address unless that would exceed a limit.
func (l *limitListener) acquire(address string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.open >= l.max || l.byAddress[address] >= l.maxPerAddress {
		return false
	}

	l.open++
	l.byAddress[address]++

	return true
}

// release undoes one acquire.
func (l *limitListener) release(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.open--

	l.byAddress[address]--
	if l.byAddress[address] == 0 {
		delete(l.byAddress, address)
	}
}

// countedConn counts as open until its first Close.
type countedConn struct {
	net.Conn
	release func()
}

// Close closes the connection and releases its place.
func (c *countedConn) Close() error {
	c.release()
	return c.Conn.Close()
}
