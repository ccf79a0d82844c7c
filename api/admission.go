package api

import (
	"context"
	"net"
	"net/http"
	"time"

	"ratchet/internal/clientnet"
)

// unsignedBodyTimeout bounds how long a body may take whose sender is unknown.
const unsignedBodyTimeout = 5 * time.Second

// admission limits concurrent work. A request passes up to three limits, each for the time of
// one stage only. A slot is therefore never held for a client that is slow to send, or whose
// credential was not checked.
type admission struct {
	// checks limits the checks of credentials that are not known to be valid, by network.
	checks *loadShedder
	// bodies limits the arriving bodies of authenticated callers, by caller and tenant.
	bodies *loadShedder
	// unsigned has the arriving bodies that need no credential.
	unsigned *unsignedBodies
	// work limits the requests of authenticated callers that are being served, by caller and tenant,
	// and callbacks the requests whose body is signed.
	work, callbacks *loadShedder
}

func newAdmission(cfg Config) admission {
	slots, queue := share(cfg.InFlight), share(2*cfg.InFlight)

	if cfg.Dev { // there is only one caller
		slots, queue = limit{slots.total, slots.total, slots.total}, limit{queue.total, queue.total, queue.total}
	}

	// Strangers have limits of their own, so that they never take the place of a caller. All
	// callbacks count for one sender, which may have the whole limit.
	return admission{
		checks:    newLoadShedder(limit{total: 64, each: 16}, limit{total: 256, each: 64}),
		bodies:    newLoadShedder(limit{2 * slots.total, 2 * slots.each, 2 * slots.tenant}, queue),
		unsigned:  newUnsignedBodies(maxUnsignedBodies),
		work:      newLoadShedder(slots, queue),
		callbacks: newLoadShedder(limit{total: 64, each: 64}, limit{total: 128, each: 128}),
	}
}

// admit takes the slot in which the request is served, after its body has arrived.
func (a admission) admit(ctx context.Context, to route, c *call) (release func(), p *problem) {
	switch {
	case !to.public:
		return a.work.acquire(ctx, c.party())
	case to.rawBody:
		return a.callbacks.acquire(ctx, party{})
	}

	return func() {}, nil // the probes answer even when the server is overloaded
}

// readBody reads the body of a request within the limits of arriving bodies.
func (a admission) readBody(ctx context.Context, w http.ResponseWriter, r *http.Request, to route, c *call) ([]byte, *problem) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}

	if to.public {
		return a.readUnsigned(w, r)
	}

	release, p := a.bodies.acquire(ctx, c.party())
	if p != nil {
		return nil, p.withHeader("Connection", "close") // the body is not read
	}
	defer release()

	body, p := readBody(w, r, maxBody)
	if p != nil {
		return nil, p
	}

	// The body has arrived. The server's deadline for it must not end the request. It fails only in tests, which have
	// no connection.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})

	return body, nil
}

// readUnsigned reads a body whose sender is unknown. It never refuses one because others are arriving: it ends those.
func (a admission) readUnsigned(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	control := http.NewResponseController(w)
	// Deadlines fail only in tests, which have no connection.
	_ = control.SetReadDeadline(time.Now().Add(unsignedBodyTimeout))

	arrived := a.unsigned.enter(network(r), func() { _ = control.SetReadDeadline(time.Unix(1, 0)) })
	defer arrived()

	body, p := readBody(w, r, maxUnsignedBody)
	if p != nil {
		return nil, p
	}

	_ = control.SetReadDeadline(time.Time{})

	return body, nil
}

// address returns the IP address that the request comes from.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}

	return host
}

// network returns the unit of the limits by address.
func network(r *http.Request) string { return clientnet.Of(r.RemoteAddr) }
