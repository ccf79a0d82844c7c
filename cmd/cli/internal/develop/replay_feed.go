package develop

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/internal/plural"
	"ratchet/transitions"
	"ratchet/workflow"
)

// replayFeed sends requests to the orders: the events of one order one after the other,
// different orders in parallel, and some requests as several concurrent copies.
type replayFeed struct {
	orders     *transitions.Orders
	parallel   int
	duplicates int // percent
	notes      io.Writer

	lanes   []chan line // each order belongs to one lane, which keeps its events in order
	started time.Time
	took    time.Duration

	mu       sync.Mutex
	reports  map[transitions.OrderID]*orderReport
	sequence []transitions.OrderID // in the order of the input
	badLines int
	sent     int
}

// run starts the lanes, calls read to fill them, and waits until every request is answered.
func (f *replayFeed) run(ctx context.Context, read func(context.Context) error) error {
	f.started, f.reports = time.Now(), map[transitions.OrderID]*orderReport{}
	f.lanes = make([]chan line, f.parallel)
	group, ctx := errgroup.WithContext(ctx)
	for i := range f.lanes {
		// A short queue, so that reading waits for sending and memory stays small.
		lane := make(chan line, 16)
		f.lanes[i] = lane
		group.Go(func() error {
			for l := range lane {
				if err := f.send(ctx, l); err != nil {
					return err
				}
			}

			return nil
		})
	}
	group.Go(func() error {
		// Closed also after an error, or the lanes would wait forever.
		defer func() {
			for _, lane := range f.lanes {
				close(lane)
			}
		}()

		return read(ctx)
	})
	err := group.Wait()
	f.took = time.Since(f.started)

	return err
}

// progress says how much of the input was sent.
func (f *replayFeed) progress() string {
	f.mu.Lock()
	defer f.mu.Unlock()

	return fmt.Sprintf("%s sent, for %s", plural.Of(f.sent, "request"), plural.Of(len(f.sequence), "order"))
}

// bad counts and prints a line that cannot be used.
func (f *replayFeed) bad(n int, reason error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.badLines++
	fmt.Fprintf(f.notes, "line %d: %v\n", n, reason)
}

// expect stores the state in which an order's history ended, and its line. It fails if the order has been in
// the input already.
func (f *replayFeed) expect(id string, line int, state workflow.State) error {
	f.mu.Lock()
	defer f.mu.Unlock()

	if r, twice := f.reports[transitions.OrderID(id)]; twice {
		return fmt.Errorf("order %s stands on line %d, too: only that one is sent", id, r.line)
	}
	r := f.report(transitions.OrderID(id))
	r.Expected, r.line = state, line

	return nil
}

// report returns the order's report and creates it if needed. The caller holds f.mu.
func (f *replayFeed) report(id transitions.OrderID) *orderReport {
	r := f.reports[id]
	if r == nil {
		r = &orderReport{OrderID: id, Refused: []refusal{}}
		f.reports[id] = r
		f.sequence = append(f.sequence, id)
	}

	return r
}

// add puts a request into its order's lane. A request without an id gets one from its order
// and position, so that a second replay of the file repeats the same requests.
func (f *replayFeed) add(ctx context.Context, l line) error {
	f.mu.Lock()

	r := f.report(l.OrderID)
	r.events++
	if l.TransitionID == 0 && l.RequestID == "" {
		// From the position, so that a second replay of the file repeats the requests instead of
		// making new ones.
		l.RequestID = transitions.RequestID(fmt.Sprintf("replay/%d/%s", r.events, l.Event))
	}
	f.mu.Unlock()

	// Sent without the lock: a full lane waits for its requests, which need the lock to be counted.
	select {
	case f.lanes[draw(string(l.OrderID), "lane")%uint32(len(f.lanes))] <- l:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// draw returns a number that depends only on the texts, so that two runs do the same.
func draw(texts ...string) uint32 {
	h := fnv.New32a()
	for _, t := range texts {
		_, _ = h.Write([]byte(t + "\x00")) // a hash does not fail
	}

	// The lowest bits of FNV depend only on the lowest bits of the texts.
	return h.Sum32() >> 4
}

// send sends a request, sometimes as two or three concurrent copies, and after some of them
// a late copy of an earlier request.
func (f *replayFeed) send(ctx context.Context, l line) error {
	copies := 1
	key := string(l.OrderID) + string(l.RequestID) + fmt.Sprint(l.TransitionID)
	if int(draw(key, "copies")%100) < f.duplicates {
		copies += 1 + int(draw(key, "more")%2)
	}

	// Each copy has its own slot, so no lock is needed.
	verdicts := make([]transitions.Result, copies)
	group, sending := errgroup.WithContext(ctx)
	// The copies are sent at the same time: exactly one of them must be applied.
	for i := range copies {
		group.Go(func() (err error) {
			verdicts[i], err = f.request(sending, l)
			return err
		})
	}

	if err := group.Wait(); err != nil {
		return err
	}

	// A late copy of an older request must be replayed or superseded, and never move the order.
	late := f.count(l, verdicts)
	if late == nil {
		return nil
	}

	result, err := f.request(ctx, *late)
	if err == nil {
		f.count(*late, []transitions.Result{result})
	}

	return err
}

// request sends one request, and again while the error is retryable.
func (f *replayFeed) request(ctx context.Context, l line) (transitions.Result, error) {
	for {
		var result transitions.Result
		var err error
		if l.Event == workflow.Place {
			result, err = f.orders.Create(ctx, transitions.NewOrder{ID: l.OrderID, Items: l.Items, Total: l.Total})
		} else {
			result, err = f.orders.Apply(ctx, l.Request)
		}

		// ErrJournalBehind lasts until the stream is read, which a replay does not do.
		if err == nil || !transitions.Retryable(err) || ctx.Err() != nil || errors.Is(err, transitions.ErrJournalBehind) {
			return result, err
		}
	}
}

// count adds the verdicts of one request and its copies to the order's report. It returns
// an earlier request to send once more, or nil.
func (f *replayFeed) count(l line, results []transitions.Result) *line {
	f.mu.Lock()
	defer f.mu.Unlock()

	r := f.reports[l.OrderID]
	done, refused := false, transitions.Result{}
	for _, result := range results {
		f.sent++

		switch result.Verdict {
		case transitions.Applied:
			r.Applied++
			done = true
		case transitions.Replayed:
			r.Replayed++
			done = true
		default:
			refused = result
		}

		// Copies answer in any order; the highest transition is the newest.
		if o := result.Order; o != nil && o.TransitionID >= r.TransitionID {
			r.FinalState, r.TransitionID = o.State, o.TransitionID
		}
	}

	// One refusal for all copies: they are one request.
	switch {
	case !done:
		r.Refused = append(r.Refused, refusal{l.Event, refused.Verdict})
	case len(results) > 1:
		r.made = append(r.made, l)
	}

	if len(results) > 1 && len(r.made) > 1 && int(draw(string(l.OrderID), string(l.Event), "late")%100) < f.duplicates {
		late := r.made[0]
		return &late
	}

	return nil
}
