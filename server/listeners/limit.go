package listeners

import (
	"bufio"
	"errors"
	"net"
	"sync"

	"ratchet/internal/clientnet"
)

// limitListener is a listener that closes a new connection at once if there are too many.
type limitListener struct {
	net.Listener
	max, maxPerClient int
	proxies           *Proxies

	mu       sync.Mutex
	open     int
	byClient map[string]int // open connections; clients without any are absent
}

// Limit returns the listener with limits of the connections that are open at a time: in total, and from one client
// (an IPv4 address or an IPv6 /64). The connections of trusted proxies count for their clients if they begin with the PROXY protocol, and
// otherwise only in total. The remote address of a connection is then the client's.
func Limit(inner net.Listener, proxies *Proxies, maxOpen, maxPerClient int) net.Listener {
	return &limitListener{
		Listener:     inner,
		proxies:      proxies,
		max:          maxOpen,
		maxPerClient: maxPerClient,
		byClient:     map[string]int{},
	}
}

// Accept returns the next connection within the limits.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}

		if counted, ok := l.count(conn); ok {
			return counted, nil
		}

		_ = conn.Close() // nothing was read from it
	}
}

// count returns the connection as one that is counted, or reports false if there are too many.
func (l *limitListener) count(conn net.Conn) (net.Conn, bool) {
	peer, ok := clientnet.Addr(conn.RemoteAddr().String())
	proxied := ok && l.proxies.trusts(peer)

	if !l.enter() {
		return nil, false
	}

	counted := &countedConn{Conn: conn, listener: l}
	if proxied && l.proxies.source == proxyProtocol {
		return &proxiedConn{Conn: counted, in: bufio.NewReader(counted), admit: counted.admit}, true
	}

	if !proxied && counted.admit(clientnet.Of(conn.RemoteAddr().String())) != nil {
		l.leave("")
		return nil, false
	}

	return counted, true
}

// enter counts a connection unless that would exceed the limit in total.
func (l *limitListener) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.open >= l.max {
		return false
	}
	l.open++

	return true
}

// leave undoes one enter, and what was counted for the client, if it is not "".
func (l *limitListener) leave(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.open--

	if client == "" {
		return
	}

	if l.byClient[client]--; l.byClient[client] == 0 {
		delete(l.byClient, client)
	}
}

// countedConn counts as open until its first Close.
type countedConn struct {
	net.Conn
	listener *limitListener
	once     sync.Once

	mu     sync.Mutex
	client string // for which it is counted
	closed bool
}

var errTooMany = errors.New("the client has too many connections")

// admit counts the connection for the client.
func (c *countedConn) admit(client string) error {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.closed {
		return net.ErrClosed
	}

	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()

	if c.listener.byClient[client] >= c.listener.maxPerClient {
		return errTooMany
	}
	c.listener.byClient[client]++
	c.client = client

	return nil
}

// Close closes the connection and releases its place. Net/http may close a connection several times.
func (c *countedConn) Close() error {
	c.once.Do(func() {
		c.mu.Lock()
		c.closed = true
		client := c.client
		c.mu.Unlock()

		c.listener.leave(client)
	})

	return c.Conn.Close()
}
