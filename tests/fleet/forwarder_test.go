package fleet

import (
	"context"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

// link is what the forwarder does with the bytes from one node to another.
type link struct {
	mended chan struct{} // closed when the link works again; nil while it works
	delay  time.Duration
}

// forwarder carries the connections between nodes. It listens on a port for each destination, and knows the
// source by its address.
type forwarder struct {
	mu    sync.Mutex
	links map[[2]int]*link // from, to
}

func newForwarder(t *testing.T) *forwarder {
	f := &forwarder{links: map[[2]int]*link{}}

	var group sync.WaitGroup
	t.Cleanup(group.Wait)

	for to := range nodes {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", hubAddress(to))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })

		group.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go f.carry(t.Context(), conn, to)
			}
		})
	}

	return f
}

// carry connects a node with another one until one of them closes the connection.
func (f *forwarder) carry(ctx context.Context, near net.Conn, to int) {
	defer near.Close()

	// 10.9.FROM.2
	from := 0
	if ip := near.RemoteAddr().(*net.TCPAddr).IP.To4(); ip != nil {
		from = int(ip[2])
	}

	if !f.pass(ctx, from, to) {
		return
	}

	far, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", nodeAddress(to))
	if err != nil {
		return
	}
	defer far.Close()

	ended := make(chan struct{}, 2)
	go func() { f.copy(ctx, far, near, from, to); ended <- struct{}{} }()
	go func() { f.copy(ctx, near, far, to, from); ended <- struct{}{} }()

	select {
	case <-ended:
	case <-ctx.Done():
	}
}

func (f *forwarder) copy(ctx context.Context, to, from net.Conn, source, target int) {
	buffer := make([]byte, 64<<10)

	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !f.pass(ctx, source, target) {
				return
			}

			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}

		if err != nil {
			return
		}
	}
}

// pass waits as the link says: for its delay, and while it is cut. What was sent before comes late.
func (f *forwarder) pass(ctx context.Context, from, to int) bool {
	f.mu.Lock()
	l := f.of(from, to)
	mended, delay := l.mended, l.delay
	f.mu.Unlock()

	if mended != nil {
		select {
		case <-mended:
		case <-ctx.Done():
			return false
		}
	}

	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return false
		}
	}

	return ctx.Err() == nil
}

func (f *forwarder) of(from, to int) *link {
	key := [2]int{from, to}
	if f.links[key] == nil {
		f.links[key] = &link{}
	}

	return f.links[key]
}

// cut holds back what is sent in one direction, until the returned function is called.
func (f *forwarder) cut(from, to int) (mend func()) {
	f.mu.Lock()
	defer f.mu.Unlock()

	l, mended := f.of(from, to), make(chan struct{})
	l.mended = mended

	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()

		l.mended = nil
		close(mended)
	})
}

// slow delays what is sent in one direction.
func (f *forwarder) slow(from, to int, delay time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.of(from, to).delay = delay
}

// hubAddress is where all nodes reach the node, nodeAddress is its own.
func hubAddress(node int) string  { return net.JoinHostPort(hubIP, strconv.Itoa(port(node))) }
func nodeAddress(node int) string { return net.JoinHostPort(nodeIP(node), strconv.Itoa(port(node))) }

func port(node int) int { return 8000 + node }

const hubIP = "10.9.0.1"

func nodeIP(node int) string { return "10.9." + strconv.Itoa(node) + ".2" }
