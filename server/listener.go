package server

import (
	"net"
	"sync"
)

// Connections of the HTTP API, in all and from one address. An idle one costs about
// 13 KB; a proxy in front is one address and needs far fewer.
const (
	mostConnections    = 4096
	mostFromOneAddress = 1024
)

// bounded closes connections beyond its bounds as soon as they come.
type bounded struct {
	net.Listener
	most, mostFromOne int

	mu   sync.Mutex
	all  int
	from map[string]int
}

func bound(l net.Listener, most, mostFromOne int) *bounded {
	return &bounded{Listener: l, most: most, mostFromOne: mostFromOne, from: map[string]int{}}
}

// Accept returns the next connection within the bounds.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}

		address, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err != nil {
			address = conn.RemoteAddr().String()
		}

		if b.enter(address) {
			return &counted{Conn: conn, leave: sync.OnceFunc(func() { b.leave(address) })}, nil
		}
		_ = conn.Close() // nothing was read from it
	}
}

func (b *bounded) enter(address string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.all >= b.most || b.from[address] >= b.mostFromOne {
		return false
	}
	b.all++
	b.from[address]++

	return true
}

func (b *bounded) leave(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.all--
	if b.from[address]--; b.from[address] == 0 {
		delete(b.from, address)
	}
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close closes the connection and makes room.
func (c *counted) Close() error {
	c.leave()
	return c.Conn.Close()
}
