package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/transitions"
	"ratchet/workflow"
)

// feed sends requests to the orders: events of one order one after the other, orders
// in parallel, and some requests several times at once.
type feed struct {
	orders     *transitions.Orders
	parallel   int
	duplicates int // percent
	notes      io.Writer

	lanes   []chan line
	started time.Time
	took    time.Duration

	mu       sync.Mutex
	reports  map[transitions.OrderID]*orderReport
	sequence []transitions.OrderID // in the order of the input
	badLines int
	sent     int
}

// orderReport is what became of one order.
type orderReport struct {
	OrderID      transitions.OrderID      `json:"orderId"`
	FinalState   workflow.State           `json:"finalState"`
	TransitionID transitions.TransitionID `json:"transitionId"`
	Applied      int                      `json:"applied"`
	Replayed     int                      `json:"replayed"`
	Refused      []refusal                `json:"refused"`
	// Expected is where the order's real history ended, when the input says so.
	Expected   workflow.State `json:"expected,omitempty"`
	AsExpected bool           `json:"asExpected"`

	events int
	made   []line // the requests that were applied, for late duplicates
}

type refusal struct {
	Event   workflow.Event      `json:"event"`
	Verdict transitions.Verdict `json:"verdict"`
}

// run starts the lanes, lets read fill them, and waits until all is sent.
func (f *feed) run(ctx context.Context, read func(context.Context) error) error {
	f.started, f.reports = time.Now(), map[transitions.OrderID]*orderReport{}
	f.lanes = make([]chan line, f.parallel)
	group, ctx := errgroup.WithContext(ctx)
	for i := range f.lanes {
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

// bad reports a line that cannot be used.
func (f *feed) bad(n int, reason error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.badLines++
	fmt.Fprintf(f.notes, "line %d: %v\n", n, reason)
}

// expect notes where an order's history ended. An order that comes twice is refused.
func (f *feed) expect(id string, state workflow.State) error {
	f.mu.Lock()
	defer f.mu.Unlock()

	if _, twice := f.reports[transitions.OrderID(id)]; twice {
		return fmt.Errorf("order %s comes twice", id)
	}
	f.report(transitions.OrderID(id)).Expected = state

	return nil
}

// report returns the order's report; f.mu is held.
func (f *feed) report(id transitions.OrderID) *orderReport {
	r := f.reports[id]
	if r == nil {
		r = &orderReport{OrderID: id, Refused: []refusal{}}
		f.reports[id] = r
		f.sequence = append(f.sequence, id)
	}

	return r
}

// add puts a request into its order's lane.
func (f *feed) add(ctx context.Context, l line) error {
	f.mu.Lock()

	r := f.report(l.OrderID)
	r.events++
	if l.TransitionID == 0 && l.RequestID == "" {
		l.RequestID = transitions.RequestID(fmt.Sprintf("replay/%d/%s", r.events, l.Event))
	}
	f.mu.Unlock()

	select {
	case f.lanes[draw(string(l.OrderID), "lane")%uint32(len(f.lanes))] <- l:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// draw is a number that follows from the texts alone, so that two runs do the same.
func draw(texts ...string) uint32 {
	h := fnv.New32a()
	for _, t := range texts {
		_, _ = h.Write([]byte(t + "\x00")) // a hash does not fail
	}

	return h.Sum32() >> 4
}

// send sends a request, some of them as two or three copies at once, and now and
// then a copy of one that was applied earlier.
func (f *feed) send(ctx context.Context, l line) error {
	copies := 1
	key := string(l.OrderID) + string(l.RequestID) + fmt.Sprint(l.TransitionID)
	if int(draw(key, "copies")%100) < f.duplicates {
		copies += 1 + int(draw(key, "more")%2)
	}

	verdicts := make([]transitions.Result, copies)
	group, sending := errgroup.WithContext(ctx)
	for i := range copies {
		group.Go(func() (err error) {
			verdicts[i], err = f.request(sending, l)
			return err
		})
	}

	if err := group.Wait(); err != nil {
		return err
	}

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

// request asks once, again while the answer is a retryable error.
func (f *feed) request(ctx context.Context, l line) (transitions.Result, error) {
	for {
		var result transitions.Result
		var err error
		if l.Event == workflow.Place {
			result, err = f.orders.Create(ctx, transitions.NewOrder{ID: l.OrderID, Items: l.Items, Total: l.Total})
		} else {
			result, err = f.orders.Apply(ctx, l.Request)
		}

		if err == nil || !transitions.Retryable(err) || ctx.Err() != nil || errors.Is(err, transitions.ErrJournalBehind) {
			return result, err
		}
	}
}

// count adds the verdicts of one request and its copies to the order's report, and
// returns an earlier request to be sent once more, or nil.
func (f *feed) count(l line, results []transitions.Result) *line {
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

		if o := result.Order; o != nil && o.TransitionID >= r.TransitionID {
			r.FinalState, r.TransitionID = o.State, o.TransitionID
		}
	}

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

// print writes the report: one line of JSON per order, or a summary for people.
func (f *feed) print(out io.Writer, asJSON bool) error {
	asExpected, applied, replayed := 0, 0, 0
	refused := map[transitions.Verdict]int{}
	for _, id := range f.sequence {
		r := f.reports[id]
		r.AsExpected = r.Expected == "" || r.Expected == r.FinalState
		if r.AsExpected {
			asExpected++
		}

		applied, replayed = applied+r.Applied, replayed+r.Replayed
		for _, x := range r.Refused {
			refused[x.Verdict]++
		}

		switch {
		case asJSON:
			if err := printJSON(out, r); err != nil {
				return err
			}
		case len(r.Refused) > 0 || !r.AsExpected:
			fmt.Fprintf(out, "%s  %s", r.OrderID, r.FinalState)

			if !r.AsExpected {
				fmt.Fprintf(out, " (history says %s)", r.Expected)
			}

			for _, x := range r.Refused {
				fmt.Fprintf(out, "  %s: %s", x.Event, x.Verdict)
			}
			fmt.Fprintln(out)
		}
	}

	summary := out
	if asJSON {
		summary = f.notes
	}
	fmt.Fprintf(summary, "%d orders, %d ended where their history says; %d requests in %s: %d applied, %d replayed",
		len(f.sequence), asExpected, f.sent, f.took.Round(time.Millisecond), applied, replayed)

	for _, v := range transitions.Verdicts() {
		if refused[v] > 0 {
			fmt.Fprintf(summary, ", %d events refused as %s", refused[v], v)
		}
	}
	fmt.Fprintln(summary)

	if f.badLines > 0 {
		return &statusError{exitUsage, fmt.Errorf("%d lines could not be used", f.badLines)}
	}

	return nil
}
