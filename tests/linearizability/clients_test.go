package linearizability

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"ratchet/transitions"
	"ratchet/workflow"
)

// scene is one order and the clients that work on it at once.
type scene struct {
	orders  *faultyOrders
	order   transitions.OrderID
	percent int // of calls with faults

	mu      sync.Mutex
	history []porcupine.Operation
	// asked are the requests so far, which clients may send again.
	asked []transitions.Request
	// open are the calls whose outcome is unknown.
	open []call
	err  error
}

// play lets the clients make the calls, finds out the outcome of the open ones and returns
// the history.
func (s *faultyOrders) play(ctx context.Context, order transitions.OrderID, seed uint64, clients, calls, percent int) ([]porcupine.Operation, error) {
	sc := &scene{orders: s, order: order, percent: percent}
	defer s.journal.forget(order)

	var group sync.WaitGroup
	for n := range clients {
		group.Go(func() {
			c := &client{scene: sc, n: n, rng: rand.New(rand.NewPCG(seed, uint64(n)))}
			for range calls / clients {
				sc.fail(c.act(ctx))
			}
		})
	}
	group.Wait()

	if sc.err == nil {
		sc.fail(sc.settle(ctx))
	}

	return sc.history, sc.err
}

// fail keeps an error that ends the scene. A nil error changes nothing.
func (sc *scene) fail(err error) {
	if err != nil {
		sc.mu.Lock()
		defer sc.mu.Unlock()
		sc.err = err
	}
}

// ask makes a call and adds it to the history. known is false if its outcome is not known.
func (sc *scene) ask(ctx context.Context, client int, c call, t *trouble) (a answer, known bool, err error) {
	began := time.Since(sc.orders.start)
	a, told, err := sc.orders.ask(ctx, sc.order, c, t)
	ended := int64(time.Since(sc.orders.start))
	if err != nil {
		return a, false, fmt.Errorf("order %s, %s: %w", sc.order, c, err)
	}

	if a.unknown {
		ended = math.MaxInt64
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()

	if told {
		sc.history = append(sc.history, porcupine.Operation{ClientId: client, Input: c, Call: int64(began), Output: a, Return: ended})
	}

	return a, told && !a.unknown, nil
}

// settle sends every open request again, without faults, until it has a verdict. Then it
// reads the order a last time.
func (sc *scene) settle(ctx context.Context) error {
	for _, c := range sc.open {
		known := false
		for try := 0; !known; try++ {
			if try == 50 {
				return fmt.Errorf("order %s: %s: %w", sc.order, c, errUnanswered)
			}

			now, _, err := sc.ask(ctx, settler, call{verb: "get"}, nil)
			if err == nil && now.found {
				err = sc.orders.journal.wait(sc.order, now.id)
			}

			if err != nil {
				return err
			}

			if _, known, err = sc.ask(ctx, settler, c, nil); err != nil {
				return err
			}
		}
	}
	_, _, err := sc.ask(ctx, settler, call{verb: "get"}, nil)

	return err
}

// errUnanswered: a request has no verdict although there are no more faults.
var errUnanswered = errors.New("still without a verdict after 50 tries without faults")

// settler is the number of the client that sends the open requests again.
const settler = 99

// client draws calls. It knows where the order was according to its last answer.
type client struct {
	*scene
	n     int
	rng   *rand.Rand
	state workflow.State
	id    transitions.TransitionID
	keys  int
}

// act makes one call.
func (c *client) act(ctx context.Context) error {
	next := c.draw()
	for again := 2; ; again-- {
		a, known, err := c.ask(ctx, c.n, next, misfortune(c.rng, c.percent))
		if err != nil {
			return err
		}

		if a.found {
			c.state, c.id = a.state, a.id
		}

		if known || next.verb == "get" {
			return nil
		}

		if again == 0 || c.rng.IntN(2) == 0 {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.open = append(c.open, next)
			return nil
		}
	}
}

// draw chooses the next call.
func (c *client) draw() call {
	switch n := c.rng.IntN(100); {
	case c.id == 0 && n < 60, n < 2:
		return call{verb: "create", total: 1 + int64(c.rng.IntN(20))/19}
	case n < 8:
		return call{verb: "get"}
	case n < 28:
		if r, ok := c.former(); ok {
			return call{request: r}
		}
	}
	r := c.fresh()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, r)

	return call{request: r}
}

// former returns a request that a client has sent before, sometimes with other content. It
// returns false if there is none.
func (c *client) former() (transitions.Request, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if len(c.asked) == 0 {
		return transitions.Request{}, false
	}

	r := c.asked[c.rng.IntN(len(c.asked))]
	if c.rng.IntN(6) == 0 {
		r.Event = usual[c.rng.IntN(len(usual))]
	}

	if *flagMoved && r.RequestID != "" && c.rng.IntN(3) == 0 {
		r.TransitionID, r.IfMatch = 0, nil
		switch seen := c.id; c.rng.IntN(3) {
		case 0:
			r.TransitionID = seen + 1
		case 1:
			r.IfMatch = &seen
		}
	}

	return r, true
}

// fresh returns a new request. Two clients may choose the same id.
func (c *client) fresh() transitions.Request {
	r := transitions.Request{Event: c.event()}
	if c.rng.IntN(10) == 0 && c.state != "" {
		r.From = c.state
	}

	mode := c.rng.IntN(100)
	if mode >= 45 {
		c.keys++
		r.RequestID = transitions.RequestID(fmt.Sprintf("c%d-%d", c.n, c.keys))
	}

	switch {
	case mode < 60: // the id is given; the last quarter has a request id as well
		r.TransitionID = c.given()
	case mode < 72:
		seen := max(0, c.given()-1)
		r.IfMatch = &seen
	}

	return r
}

// given returns an id as an execution would compute it, or another one: with a gap, or
// older than the order's.
func (c *client) given() transitions.TransitionID {
	switch n := c.rng.IntN(100); {
	case n < 70:
		return c.id + 1
	case n < 85:
		return c.id + 2 + transitions.TransitionID(c.rng.IntN(9))
	}

	return max(1, c.id-transitions.TransitionID(c.rng.IntN(20)))
}

// event returns an event. In most cases it is legal in the state that the client has last
// seen.
func (c *client) event() workflow.Event {
	switch n := c.rng.IntN(400); {
	case n < 2:
		return stop
	case n < 4:
		return unheard
	case n < 340:
		legal := slices.DeleteFunc(slices.Clone(usual), func(e workflow.Event) bool {
			_, ok := definition().Next(c.state, e)
			return !ok
		})
		if len(legal) > 0 {
			return legal[c.rng.IntN(len(legal))]
		}
	}

	return usual[c.rng.IntN(len(usual))]
}
