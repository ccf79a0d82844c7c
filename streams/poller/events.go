package poller

import "ratchet/streams"

// withHooks returns the hooks with one that does nothing in place of each that is missing.
func withHooks(e streams.Events) streams.Events {
	orNothing(&e.Page)
	orNothing(&e.Handled)
	orNothing(&e.Retrying)
	orNothing(&e.Gap)
	orNothing(&e.Lease)
	orNothing(&e.Lag)

	if e.DeadLetter == nil {
		e.DeadLetter = func(streams.Record, int, error) {}
	}

	if e.Fault == nil {
		e.Fault = func(string, string, error) {}
	}

	return e
}

func orNothing[T any](hook *func(T)) {
	if *hook == nil {
		*hook = func(T) {}
	}
}
