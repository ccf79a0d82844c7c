package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"ratchet/activities"
	"ratchet/transitions"
)

// Activity is an [activities.Middleware] that makes a span of each attempt of a task. The span
// begins a trace, which the transition of the task continues. Step Functions does not number
// attempts, so an attempt is linked to the first one only if the first one failed in the same
// process.
func (t *Tracing) Activity(next activities.HandlerFunc) activities.HandlerFunc {
	if t == nil {
		return next
	}

	return func(ctx context.Context, task activities.Task) (any, error) {
		order, transition := subjectOf(task.Input)
		work := task.Activity + " " + string(order) + " " + strconv.FormatInt(int64(transition), 10)

		ctx, span := t.tracer.Start(ctx, "activity "+task.Activity, activitySpan.kind(),
			trace.WithLinks(linkTo(linkFirst, t.attempts.first(work))...),
			trace.WithAttributes(text(attrActivity, task.Activity)))

		if order != "" {
			span.SetAttributes(text(attrOrder, string(order)))
		}

		if transition > 0 {
			span.SetAttributes(number(attrTransition, transition))
		}

		// The class stays if next panics: the deferred function ends the span then, too.
		class := classPanic
		defer func() {
			if class == "" {
				// A success ends the work; a later task of the same name is another one.
				t.attempts.forget(work)
			} else {
				t.attempts.failed(work, span.SpanContext())
			}
			end(span, class)
		}()

		output, err := next(ctx, task)
		if class = errorClass(err); errors.Is(err, activities.ErrParked) {
			class = "" // no failure: the task is answered later
		}

		return output, err
	}
}

// subjectOf returns the order and the transition of a task, as far as its input has them.
func subjectOf(input json.RawMessage) (transitions.OrderID, transitions.TransitionID) {
	var in struct {
		OrderID      transitions.OrderID      `json:"orderId"`
		TransitionID transitions.TransitionID `json:"transitionId"`
		Order        struct {
			OrderID transitions.OrderID `json:"orderId"`
		} `json:"order"`
	}

	if json.Unmarshal(input, &in) != nil {
		return "", 0
	}

	// Some tasks have the id only inside their order.
	if in.OrderID == "" {
		in.OrderID = in.Order.OrderID
	}

	// An id from outside may be of any length, so an invalid one becomes no attribute.
	if in.OrderID.Validate() != nil {
		return "", in.TransitionID
	}

	return in.OrderID, in.TransitionID
}

// mostFailed is how many failed first attempts are remembered.
const mostFailed = 1024

// firstAttempts remembers the spans of the newest first attempts that have failed. The zero value
// is ready to use.
type firstAttempts struct {
	mu    sync.Mutex
	spans map[string]failedAttempt
	works [mostFailed]string // a ring, to forget the oldest; work that succeeded keeps its slot
	next  int
}

type failedAttempt struct {
	span trace.SpanContext
	slot int // of works
}

// first returns the span of the first attempt, invalid if none is known.
func (f *firstAttempts) first(work string) trace.SpanContext {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.spans[work].span
}

// failed notes a failed attempt. Only the first one stays.
func (f *firstAttempts) failed(work string, span trace.SpanContext) {
	f.mu.Lock()
	defer f.mu.Unlock()

	if _, known := f.spans[work]; known {
		return
	}

	if f.spans == nil {
		f.spans = map[string]failedAttempt{}
	}

	// The oldest work may have been forgotten and have failed again: then it has a newer slot, and
	// must stay.
	if oldest := f.works[f.next]; f.spans[oldest].slot == f.next {
		delete(f.spans, oldest)
	}
	f.spans[work], f.works[f.next] = failedAttempt{span, f.next}, work
	f.next = (f.next + 1) % mostFailed
}

func (f *firstAttempts) forget(work string) {
	f.mu.Lock()
	defer f.mu.Unlock()

	delete(f.spans, work)
}
