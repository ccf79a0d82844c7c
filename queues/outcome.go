package queues

import "time"

// Kind is what becomes of a message. The list is closed.
type Kind uint8

// The kinds of outcomes. The zero Kind is a retry: a handler that did not decide
// has not done its work.
const (
	// KindRetry: the message comes again later. The receive counts as an attempt.
	KindRetry Kind = iota
	// KindDone: the message is deleted.
	KindDone
	// KindInProgress: nothing can be done now, and that is nobody's fault: somebody else
	// is doing this very work, or what it needs is out of reach. The message comes again
	// when that must have ended; the receive is no attempt.
	KindInProgress
	// KindReject: no retry will help. The message goes to the dead letters.
	KindReject
)

var kindTexts = [...]string{KindRetry: "retry", KindDone: "done", KindInProgress: "in_progress", KindReject: "reject"}

func (k Kind) String() string {
	if int(k) >= len(kindTexts) {
		return "unknown"
	}
	return kindTexts[k]
}

// Outcome is a handler's answer. Make one with Done, Retry, InProgress, NotYet or
// Reject.
type Outcome struct {
	Kind Kind
	// After is the pause before the message comes again (retry, in progress), to the
	// next whole second and at most 12 h, which is as exact as the service is.
	After time.Duration
	// Err is why; nil when done or in progress elsewhere. It is logged and goes into the dead letter, so it
	// must not hold secrets or personal data.
	Err error
}

// Done says that the work is done, now or before. The message is deleted.
func Done() Outcome { return Outcome{Kind: KindDone} }

// Retry says that the work failed and may succeed after a pause. With 0 the consumer
// chooses the pause; it doubles with every receive. After the consumer's attempts a
// retry becomes a rejection.
func Retry(after time.Duration, err error) Outcome {
	return Outcome{Kind: KindRetry, After: after, Err: err}
}

// InProgress says that another worker holds a lease on this very work, for rest at
// most. The message is kept and comes again after that; it is no attempt.
func InProgress(rest time.Duration) Outcome { return Outcome{Kind: KindInProgress, After: rest} }

// NotYet says that what the work needs is out of reach for a while: a service does not
// answer, say. Like InProgress it is no attempt, so that an outage empties no queue into
// the dead letters.
func NotYet(pause time.Duration, err error) Outcome {
	return Outcome{Kind: KindInProgress, After: pause, Err: err}
}

// Reject says that the message can never be handled, and why.
func Reject(reason error) Outcome { return Outcome{Kind: KindReject, Err: reason} }
