package queues

import "time"

// Kind is a handler's decision about a message. The list is closed.
type Kind uint8

// The kinds of outcomes. The zero Kind is a retry: a handler that did not decide has not
// done its work.
const (
	// KindRetry: the message comes again later. The receive counts as an attempt.
	KindRetry Kind = iota
	// KindDone: the message is deleted.
	KindDone
	// KindInProgress: the work cannot be done now, for a reason outside the message:
	// another worker is doing it, or a service that the work needs is out of reach. The message comes
	// again later; the receive does not count as an attempt.
	KindInProgress
	// KindReject: no retry will help. The message goes to the dead-letter queue.
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
	// After is the wait before the message comes again (retry, in progress), rounded up
	// to a whole second, as the service counts, and at most 12 h.
	After time.Duration
	// Err is the reason. It is nil for Done and InProgress. It is logged and stored in the dead
	// letter, so it must not hold secrets or personal data.
	Err error
}

// Done says that the work is done, by this call or an earlier one. The message is
// deleted.
func Done() Outcome { return Outcome{Kind: KindDone} }

// Retry says that the work failed and may succeed after a wait. With 0 the consumer chooses the
// wait by its Backoff. The last Retry that the consumer's Attempts allow becomes a rejection.
func Retry(after time.Duration, err error) Outcome {
	return Outcome{Kind: KindRetry, After: after, Err: err}
}

// InProgress says that another worker holds a lease on this work, for rest at most. The
// message comes again after that; the receive does not count as an attempt.
func InProgress(rest time.Duration) Outcome { return Outcome{Kind: KindInProgress, After: rest} }

// NotYet says that the work cannot be done for a while, for example because a service does not
// answer. Like InProgress it does not count as an attempt, so an outage sends no messages to the
// dead-letter queue.
func NotYet(after time.Duration, err error) Outcome {
	return Outcome{Kind: KindInProgress, After: after, Err: err}
}

// Reject says that the message can never be handled, and why.
func Reject(reason error) Outcome { return Outcome{Kind: KindReject, Err: reason} }
