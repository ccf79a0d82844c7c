package notify

import (
	"io"
	"time"

	"golang.org/x/time/rate"
)

// lane is a worker's state of one endpoint. The lock of Deliveries guards it.
type lane struct {
	endpoint Endpoint
	circuit  circuit
	limiter  *rate.Limiter // nil without a limit

	// destination was opened for openedFor. It is nil before the first attempt.
	destination Destination
	openedFor   opened

	// busy are the ids of the deliveries that this worker attempts now. One of them uses the
	// endpoint's own place; the others use shared places, which held counts.
	busy map[string]bool
	held held
	slow bool // the newest attempt took longer than firstTry

	// ready are deliveries that a look has found due. more says that the queue may have further due
	// deliveries.
	ready    []Delivery
	more     bool
	looking  bool
	nextLook time.Time

	failing bool // the endpoint's item has failingSince or openUntil, as far as this worker knows
}

// opened names what a destination was opened with: the settings, and how many secrets sign.
type opened struct {
	version
	secrets int
}

// use applies the endpoint's settings, as they were read, and this worker's share of the rate.
func (l *lane) use(e Endpoint, workers int, now time.Time) {
	share := rate.Limit(e.Rate / float64(workers))
	// A burst below 1 would allow no attempt at all.
	burst := max(1, int(share))

	switch {
	case e.Rate == 0:
		l.limiter = nil
	case l.limiter == nil:
		l.limiter = rate.NewLimiter(share, burst)
	case l.limiter.Limit() != share:
		l.limiter.SetLimit(share)
		l.limiter.SetBurst(burst)
	}

	// What the lane has learned is about the former settings, or about a former endpoint with this id.
	if l.endpoint.version() != e.version() {
		l.nextLook, l.circuit, l.failing = time.Time{}, circuit{}, false
	}

	if l.endpoint.Status != e.Status {
		// Look at once: an enabled endpoint has deliveries to send, a disabled endpoint has
		// deliveries to give up.
		l.nextLook = time.Time{}
		l.circuit = circuit{}
	}

	// Another worker has had a success, or a person has enabled the endpoint.
	if e.OpenUntil.IsZero() && !l.endpoint.OpenUntil.IsZero() {
		l.circuit = circuit{}
	}

	// Another worker has had a success: the next failure is the first one.
	if e.FailingSince.IsZero() && !l.endpoint.FailingSince.IsZero() {
		l.failing = false
	}

	l.circuit.adopt(now, e.opened, e.OpenUntil)
	l.endpoint, l.failing = e, l.failing || !e.FailingSince.IsZero() || !e.OpenUntil.IsZero()
}

// limit returns how many attempts may run at once.
func (l *lane) limit(now time.Time) int {
	if l.endpoint.Status != Active {
		return 0
	}

	return l.circuit.limit(now, l.endpoint.Concurrency)
}

// allow asks the rate limit for an attempt. It returns how long to wait if there is none.
func (l *lane) allow(now time.Time) (wait time.Duration, ok bool) {
	if l.limiter == nil {
		return 0, true
	}

	r := l.limiter.ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait == 0 {
		return 0, true
	}
	// Without the cancellation the next attempt would have to wait longer.
	r.CancelAt(now)

	return wait, false
}

// open returns the destination of the endpoint, and opens it if it is not open with these settings
// and secrets.
func (l *lane) open(e Endpoint, open func(Endpoint) (Destination, error), now time.Time) (Destination, error) {
	e = e.signing(now)
	// The number of secrets falls when the window of a rotation ends, without a new revision.
	want := opened{e.version(), len(e.Secrets)}
	if l.destination != nil && l.openedFor == want {
		return l.destination, nil
	}

	destination, err := open(e)
	if err != nil {
		return nil, err
	}

	_ = l.close() // running attempts use the old destination on; Close closes only idle connections
	l.destination, l.openedFor = destination, want

	return destination, nil
}

func (l *lane) close() error {
	destination := l.destination
	l.destination = nil

	return closeDestination(destination)
}

func closeDestination(d Destination) error {
	if closer, ok := d.(io.Closer); ok {
		return closer.Close()
	}

	return nil
}
