package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"ratchet/api/auth"
	"ratchet/transitions"
)

const (
	eventWriteTimeout = 10 * time.Second // for one event
	heartbeatInterval = 15 * time.Second // keeps proxies from closing an idle stream

	// A stream ends within 10 s of the end of its credential: the credential is checked
	// this often, and package auth remembers a key for 5 s.
	credentialInterval = 2 * time.Second
	credentialTimeout  = time.Second
	// maxUnchecked is how long a stream stays open while its credential cannot be checked.
	maxUnchecked = 4 * time.Second

	// A transition that the ring has dropped may not be in the journal yet. The stream
	// looks for it again after journalInterval, for up to maxJournalWait.
	journalInterval = time.Second
	maxJournalWait  = 10 * time.Second
)

// eventStream writes server-sent events.
type eventStream struct {
	s       *service
	w       http.ResponseWriter
	control *http.ResponseController
	caller  caller
	// valid says whether the caller may go on: auth.ErrRefused ends the stream.
	valid func(context.Context) error

	seen transitions.TransitionID // the newest that was written, or that the client has
	err  error                    // of the first failed write; nothing is written after it

	// behind is the newest state of the order while earlier transitions are missing. since is
	// when the first one was missed.
	behind *transitions.Order
	since  time.Time
}

// run writes the transitions that the client has not seen, and then each new one. It
// returns when the order has reached a final state, when a write fails, when the credential
// has ended, when the order cannot be read, when ctx ends, or when the server stops.
func (e *eventStream) run(ctx context.Context, opened *watch) {
	// The request was read completely. Its read deadline must not end the stream.
	_ = e.control.SetReadDeadline(time.Time{})

	// A comment of the protocol. It sends the header at once, so the client sees an open stream.
	e.write(": watching\n\n")

	heartbeat := time.NewTicker(heartbeatInterval)
	defer heartbeat.Stop()

	credential := time.NewTicker(credentialInterval)
	defer credential.Stop()

	journal := time.NewTicker(journalInterval)
	defer journal.Stop()

	checked := time.Now()
	for e.err == nil {
		order := (*transitions.Order)(nil)

		select {
		case <-ctx.Done():
			return
		case <-e.s.cfg.Draining:
			return
		case <-opened.broken:
			e.writeEvent("interrupted", map[string]string{"code": opened.code})
			return
		case <-heartbeat.C:
			e.write(": alive\n\n")
		case <-credential.C:
			if !e.mayContinue(ctx, &checked) {
				e.writeEvent("interrupted", map[string]string{"code": "unauthenticated"})
				return
			}
		case <-journal.C:
			// nil, unless transitions are missing.
			order = e.behind
		case order = <-opened.moved:
		}

		if order != nil && e.writeOrder(ctx, order) {
			return
		}
	}
}

// mayContinue checks the credential again. checked is when it was last known to be valid.
func (e *eventStream) mayContinue(ctx context.Context, checked *time.Time) bool {
	ctx, cancel := context.WithTimeout(ctx, credentialTimeout)
	defer cancel()

	// The answer may be slow, so the time before the check counts.
	began := time.Now()

	err := e.valid(ctx)
	switch {
	case err == nil:
		*checked = began
		return true
	case errors.Is(err, auth.ErrRefused):
		return false
	}

	// The check itself has failed. A short outage must not end every stream.
	return time.Since(*checked) < maxUnchecked
}

// validity returns the check of the caller's credential that an event stream repeats.
func (s *service) validity(c caller, opened *call) func(context.Context) error {
	switch {
	case opened.by != nil:
		return opened.by.validity
	case s.cfg.Dev:
		return func(context.Context) error { return nil }
	}

	return func(ctx context.Context) error {
		principal, err := s.cfg.Auth.Authenticate(ctx, opened.token)
		// A credential that may less than when the stream began ends it.
		if err == nil && (principal.Tenant != c.Tenant || !principal.May(auth.Read) || c.Personal && !principal.Personal) {
			return auth.ErrRefused
		}

		return err
	}
}

// writeOrder writes the transitions of the order that the client has not seen. It reports
// whether the stream has ended. If the journal lacks some transitions, it writes only up to the
// first missing transition, and remembers the order for another attempt.
func (e *eventStream) writeOrder(ctx context.Context, order *transitions.Order) (ended bool) {
	rows, complete := order.Since(e.seen)
	complete = complete || e.seen == 0 // a new stream begins with the ring's transitions

	var err error
	if !complete {
		complete, err = e.writeJournal(ctx, order)
		// The journal's rows have moved e.seen.
		rows, _ = order.Since(e.seen)
	}

	switch {
	case complete:
	case e.mayWait(order):
		return false
	case err != nil:
		e.writeEvent("interrupted", map[string]string{"code": "unavailable"})
		return true
	default:
		e.writeGap(ctx, order, rows)
	}
	e.behind = nil

	for _, row := range rows {
		e.writeTransition(row.Transition)
	}

	if !e.s.definition().Terminal(order.State) {
		return false
	}
	e.writeEvent("end", map[string]string{"state": string(order.State)})

	return true
}

// writeJournal writes the rows of the journal that follow the last written transition. It
// reports whether the order's ring holds all later transitions.
func (e *eventStream) writeJournal(ctx context.Context, order *transitions.Order) (complete bool, err error) {
	if !e.s.cfg.Orders.HasJournal() {
		return false, nil
	}

	for row, err := range e.s.cfg.Orders.Rows(ctx, order, e.seen) {
		if err != nil {
			e.s.cfg.Log.WarnContext(ctx, "an event stream cannot read the journal", "order", order.ID, "error", err)
			return false, err
		}

		if row.PreviousID > e.seen || e.err != nil {
			return false, nil // rows before this one are missing
		}
		e.writeTransition(row.Transition)
	}

	_, complete = order.Since(e.seen)

	return complete, nil
}

// mayWait remembers the order for another attempt. It reports false if transitions before it
// have been missing for maxJournalWait, or if there is no journal to wait for.
func (e *eventStream) mayWait(order *transitions.Order) bool {
	if e.behind == nil {
		e.since = time.Now()
	}
	e.behind = order

	return e.s.cfg.Orders.HasJournal() && time.Since(e.since) < maxJournalWait
}

// writeGap says that transitions have no record: after the last written transition and before
// the newest rows that follow each other without a gap.
func (e *eventStream) writeGap(ctx context.Context, order *transitions.Order, rows []transitions.Row) {
	before := order.TransitionID
	for _, row := range slices.Backward(rows) {
		// Skipped ids look like missing ones here: only the journal could distinguish them.
		if row.ID < before-1 {
			break
		}
		before = row.ID
	}

	e.s.cfg.Log.WarnContext(ctx, "an event stream has a gap", "order", order.ID, "after", e.seen, "before", before)
	e.writeEvent("gap", map[string]int64{"after": int64(e.seen), "before": int64(before)})
}

// writeTransition writes the transition if the client has not seen it.
func (e *eventStream) writeTransition(t transitions.Transition) {
	if t.ID <= e.seen {
		return
	}
	e.seen = t.ID

	shown := showTransition(t)
	e.caller.maskAnswer(&shown)

	data, err := json.Marshal(shown)
	if err != nil {
		e.err = err
		return
	}
	e.write(fmt.Sprintf("event: transition\nid: %d\ndata: %s\n\n", t.ID, data))
}

// writeEvent writes an event without an id, so that the client keeps the id of the last
// transition.
func (e *eventStream) writeEvent(name string, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		e.err = err
		return
	}
	e.write(fmt.Sprintf("event: %s\ndata: %s\n\n", name, text))
}

func (e *eventStream) write(text string) {
	if e.err != nil {
		return
	}

	// This fails only in tests, which have no connection.
	_ = e.control.SetWriteDeadline(time.Now().Add(eventWriteTimeout))

	if _, e.err = e.w.Write([]byte(text)); e.err == nil {
		e.err = e.control.Flush()
	}
}
