package wire

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// Bodies take memory as they arrive. A client that announces much and sends little has little.
const (
	// freeBody is the size in bytes up to which every body gets memory.
	freeBody = 16 << 10
	// maxArriving bounds the memory in bytes of all bodies that are arriving, beyond freeBody of each.
	maxArriving = 64 << 20
	// bodyPause is how long a client may send nothing in the middle of a body.
	bodyPause = 15 * time.Second
	// bodyTime is how long the largest body may take.
	bodyTime = 2 * time.Minute
	// slowAfter is the age from which a body can be too slow, and leastRate the bytes per second that it must have
	// brought by then. Only if there is no memory for another body, a body that is too slow has to go.
	slowAfter = time.Second
	leastRate = 256 << 10
	// memoryCheck is the time between two looks for bodies that are too slow, while others wait for memory.
	memoryCheck = 100 * time.Millisecond
)

// errSlow is the error of a body that did not arrive in time.
var errSlow = errors.New("the body did not arrive in time")

// arrivals shares the memory for bodies among the requests that are arriving.
type arrivals struct {
	max int

	mu      sync.Mutex
	used    int // by bodies
	bodies  map[*arrival]struct{}
	changed chan struct{} // closed when memory was given back
}

func newArrivals(most int) *arrivals {
	return &arrivals{max: most, bodies: map[*arrival]struct{}{}, changed: make(chan struct{})}
}

// arrival is a body that is arriving and has more than freeBody bytes of memory.
type arrival struct {
	began time.Time // when its first byte beyond freeBody got memory
	since time.Time // the same, or when it last got memory that it had to wait for
	bytes int       // that have arrived
	held  int       // of memory
	// waiting: for memory. How fast its client sends is not known then.
	waiting bool
	// end ends its Read. It is called at most once, without waiting.
	end   func()
	ended bool
}

// grow gives the body more memory, and waits until there is some. While it waits, bodies that are too slow are ended. It
// fails if the body itself was ended, or does not get memory in time.
func (a *arrivals) grow(b *arrival, by int) error {
	deadline := time.Now().Add(bodyPause)

	for {
		changed, err := a.tryGrow(b, by)
		if changed == nil {
			return err
		}

		if !time.Now().Before(deadline) {
			return errSlow
		}

		timer := time.NewTimer(memoryCheck)
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// tryGrow gives the body more memory, or returns the channel that is closed when there may be some.
func (a *arrivals) tryGrow(b *arrival, by int) (<-chan struct{}, error) {
	a.mu.Lock()
	defer a.mu.Unlock()

	now := time.Now()

	switch {
	case b.ended:
		return nil, errSlow
	case a.used+by > a.max:
		b.waiting = true
		a.endSlowest(b, now)

		return a.changed, nil
	}

	if b.waiting {
		b.waiting, b.since = false, now // that it did not get on while it waited was not its fault
	}

	if b.held == 0 {
		b.began, b.since = now, now
		a.bodies[b] = struct{}{}
	}
	b.held += by
	a.used += by

	return nil, nil
}

// endSlowest ends the slowest body of those that are too slow, if there is one beside b. If all of them wait for
// memory, it ends the one that began first. a.mu must be held.
func (a *arrivals) endSlowest(b *arrival, now time.Time) {
	var slowest, oldest *arrival

	slowestRate, allWait := float64(leastRate), true

	for other := range a.bodies {
		if other == b || other.ended {
			continue
		}

		if other.waiting {
			if oldest == nil || other.began.Before(oldest.began) {
				oldest = other
			}

			continue
		}
		allWait = false

		age := now.Sub(other.since)
		if age < slowAfter {
			continue
		}

		if rate := float64(other.bytes-freeBody) / age.Seconds(); rate < slowestRate {
			slowest, slowestRate = other, rate
		}
	}

	if slowest == nil && allWait && oldest != nil && now.Sub(oldest.began) >= slowAfter {
		slowest = oldest
	}

	if slowest == nil {
		return
	}

	slowest.ended = true
	slowest.end()
	// Its memory is counted until its reader has noticed.
}

// leave gives the memory of a body back: it has arrived, or never will.
func (a *arrivals) leave(b *arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()

	if b.held == 0 {
		return
	}

	a.used -= b.held
	delete(a.bodies, b)
	close(a.changed)
	a.changed = make(chan struct{})
}

// progress notes how much of a body has arrived.
func (a *arrivals) progress(b *arrival, bytes int) {
	if b.held == 0 {
		return
	}

	a.mu.Lock()
	defer a.mu.Unlock()

	b.bytes = bytes
}

// read reads the body of a request that came through a socket, at most most bytes. Its memory grows as the bytes
// arrive, up to the announced length.
func (a *arrivals) read(w http.ResponseWriter, r *http.Request, most int) ([]byte, error) {
	if r.ContentLength > int64(most) {
		return nil, errTooLarge
	}

	control, started := http.NewResponseController(w), time.Now()
	// Deadlines fail without a connection, in tests. The body of such a request is in memory.
	b := &arrival{end: func() { _ = control.SetReadDeadline(time.Unix(1, 0)) }}
	defer a.leave(b)

	body, err := a.fill(b, r.Body, int(r.ContentLength), most, func() {
		_ = control.SetReadDeadline(time.Now().Add(min(bodyPause, bodyTime-time.Since(started))))
	})

	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errSlow
	case err != nil:
		return nil, err
	}

	// The deadline was for the body. The call may take longer.
	_ = control.SetReadDeadline(time.Time{})

	return body, nil
}

// inflate decompresses a body into at most most bytes.
func (a *arrivals) inflate(compressed []byte, most int) ([]byte, error) {
	from, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}

	b := &arrival{end: func() {}}
	defer a.leave(b)

	return a.fill(b, from, -1, most, func() {})
}

// fill reads src to its end into memory that grows with what arrives. announced is its length, negative if it is not
// known. before is called before each Read.
func (a *arrivals) fill(b *arrival, src io.Reader, announced, most int, before func()) ([]byte, error) {
	end := most + 1 // one byte more shows that a body is too large
	if announced >= 0 {
		end = announced
	}

	body := make([]byte, 0, min(end, freeBody))

	for len(body) < end {
		if len(body) == cap(body) {
			size := min(2*cap(body), end)
			if err := a.grow(b, size-cap(body)); err != nil {
				return nil, err
			}

			body = append(make([]byte, 0, size), body...)
		}
		before()

		// Its end may have been decided before the deadline was set.
		if a.isEnded(b) {
			return nil, errSlow
		}

		n, err := src.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		a.progress(b, len(body))

		switch {
		case errors.Is(err, io.EOF) && len(body) < announced:
			return nil, io.ErrUnexpectedEOF
		case errors.Is(err, io.EOF):
			end = len(body)
		case err != nil:
			return nil, err
		}
	}

	if len(body) > most {
		return nil, errTooLarge
	}

	return body, nil
}

func (a *arrivals) isEnded(b *arrival) bool {
	if b.held == 0 {
		return false
	}

	a.mu.Lock()
	defer a.mu.Unlock()

	return b.ended
}
