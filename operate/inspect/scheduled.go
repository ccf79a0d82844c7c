package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ratchet/transitions"
	"ratchet/transitions/scheduled"
)

// scheduledOf returns the requests of the order that are for later, and those that have ended.
func (a Around) scheduledOf(ctx context.Context, o *transitions.Order) ([]scheduled.Request, error) {
	if a.Scheduled == nil {
		return nil, nil
	}

	found, complete, err := a.Scheduled.OfOrder(ctx, o.ID)
	if err == nil && !complete {
		err = errors.New("only the first 2,000 were read")
	}

	return found, err
}

// ofScheduled describes a request that waits for its time, or why it was not judged then.
func ofScheduled(r scheduled.Request, o *transitions.Order, now time.Time) Due {
	at := r.At.Format(time.RFC3339)
	d := Due{Event: r.Event, kind: aboutScheduled, ref: Ref{Event: string(r.Event), Status: string(r.Status)}}

	switch {
	case r.Life != "" && !slices.Contains(o.LifeIDs(), o.ID.Life(r.Life)):
		d.NextTry = r.At
		d.What = fmt.Sprintf("the request for %s at %s is for another life of the order, and will be refused", r.Event, at)
	case r.At.After(now):
		d.NextTry = r.At
		d.What = fmt.Sprintf("a request applies %s at %s", r.Event, at)
		d.Next = fmt.Sprintf("`ratchet orders scheduled list %s`", o.ID.Arg())
	case now.Sub(r.At) <= soon:
		d.Since = r.At
		d.What = fmt.Sprintf("the request for %s was due at %s: a worker judges it within a minute", r.Event, at)
	default:
		d.Since = r.At
		d.What = fmt.Sprintf("the request for %s was due at %s: no worker has judged it; `ratchet status` says whether workers run", r.Event, at)
	}
	d.ref.NextTry = d.NextTry

	return d
}

// ofEnded places the requests that have ended in the time line: what was due, and why it did not happen.
func ofEnded(all []scheduled.Request) (moments []Moment) {
	for _, r := range all {
		m := Moment{At: r.EndedAt, Kind: aboutScheduled, Ref: Ref{Event: string(r.Event), Status: string(r.Status), Transition: r.TransitionID}}
		what := fmt.Sprintf("the request for %s at %s", r.Event, r.At.Format(time.RFC3339))

		switch r.Status {
		case scheduled.Applied:
			m.What = fmt.Sprintf("%s was applied: transition %d", what, r.TransitionID)
		case scheduled.Refused:
			m.What, m.Why = what+" was refused", r.Reason
			if r.Verdict != 0 {
				m.What, m.Ref.Code = m.What+": "+r.Verdict.String(), r.Verdict.String()
			}
		case scheduled.Withdrawn:
			m.What = what + " was withdrawn"
		default:
			continue
		}
		moments = append(moments, m)
	}

	return moments
}
