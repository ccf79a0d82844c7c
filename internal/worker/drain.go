package worker

import "time"

// Drain is the stop of a runtime that polls for work and hands it to handlers. The
// times count from the stop:
//
//	stop         PollGrace            Timeout              Timeout + Grace
//	 │ polls may    │                    │                        │
//	 │ bring work   │ polls are canceled │                        │
//	 │ handlers may finish               │ contexts are canceled  │ handlers are stuck
//
// A poll is not canceled at once because the service may have handed work to it already,
// and work that was handed to a canceled poll is lost until it times out.
type Drain struct {
	// PollGrace is how long open polls may still bring work; CancelPolls then cancels
	// them. 0 or less cancels them at once.
	PollGrace   time.Duration
	CancelPolls func()
	// Timeout is how long handlers may go on; CancelHandlers then ends their contexts.
	Timeout        time.Duration
	CancelHandlers func()
	// Grace is how long handlers have to return after that.
	Grace time.Duration
	// Abort ends the drain at once when it is closed: polls and handlers are canceled, and
	// handlers are not waited for. nil: nothing does.
	Abort <-chan struct{}
}

// Run drains the runtime. It waits for the result of the pollers, calls idle once, and
// then waits for the channel that idle returns, which must be closed when no handler
// runs. It returns the pollers' result, and whether the handlers have returned in time.
//
// CancelPolls and CancelHandlers may be called more than once or not at all. When polls
// are still open at the end of Timeout, Grace counts from the end of the last poll.
func (d Drain) Run(polled <-chan error, idle func() <-chan struct{}) (drained bool, err error) {
	deadline := time.Now().Add(d.Timeout)

	grace := time.NewTimer(d.PollGrace)
	defer grace.Stop()
	timeout := time.NewTimer(d.Timeout)
	defer timeout.Stop()

	for open := true; open; {
		select {
		case err = <-polled:
			open = false
		// A poll that is open may still bring work; it is canceled only after PollGrace.
		case <-grace.C:
			d.CancelPolls()
		// Handlers whose time is over must end also while a poll hangs.
		case <-timeout.C:
			d.CancelHandlers()
		case <-d.Abort:
			d.CancelPolls()
			d.CancelHandlers()
			// The polls have just been canceled, so their result comes soon, and no goroutine stays
			// behind.
			err = <-polled
			open = false
		}
	}

	// Only now can no more work arrive, so only now has "no handler runs" a meaning.
	done := idle()
	if d.wait(done, time.Until(deadline)) {
		return true, err
	}
	// A repeat does no harm: the timeout may have canceled them already.
	d.CancelHandlers()

	return d.wait(done, d.Grace), err
}

// wait waits for done to be closed, for limit and until Abort at most. It reports whether
// done was closed.
func (d Drain) wait(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()

	select {
	case <-done:
		return true
	case <-timer.C:
	case <-d.Abort:
	}

	// Several channels may have been ready, and select chooses at random; handlers that have
	// returned count as drained.
	select {
	case <-done:
		return true
	default:
		return false
	}
}
