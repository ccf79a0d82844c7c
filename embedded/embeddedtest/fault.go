package embeddedtest

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Fault says which calls fail and how. It is plain data, apart from Match; make one
// with [LoseRequest], [LoseAnswer], [Answer], [Throttle] or [Delay] and narrow it
// with its methods, or write it as a literal.
//
// The fields On, Match, Skip, Every, Probability and Times select calls, in this
// order. A zero field selects all.
type Fault struct {
	// On lists operations, as "UpdateItem" or "dynamodb.UpdateItem".
	On []string
	// Match may reject a call of these operations.
	Match func(*Call) bool
	// Skip is how many matching calls pass first.
	Skip int
	// Every selects the nth call, the 2nth, and so on.
	Every int
	// Probability selects a call at random; 0.05 is one call in twenty. Seed makes
	// the draws repeatable. Which of several concurrent calls gets which draw is not.
	Probability float64
	Seed        uint64
	// Times is how many calls the fault strikes before it is spent.
	Times int

	// Delay is how long a call waits before anything else happens to it. It ends
	// early, with the context's error, if the call's context ends.
	Delay time.Duration
	// Err is what the client gets in place of the answer: an answer with that error
	// if it is an *Error, else the error itself. If it is nil, the call is only
	// delayed.
	Err error
	// AfterCommit lets the call be carried out before Err takes the place of its
	// answer. Otherwise the call does not reach the service.
	AfterCommit bool
}

// LoseRequest loses requests before they reach the service.
func LoseRequest(operations ...string) Fault { return Fault{On: operations, Err: ErrLost} }

// LoseAnswer loses the answers of calls that were carried out.
func LoseAnswer(operations ...string) Fault {
	return Fault{On: operations, Err: ErrAnswerLost, AfterCommit: true}
}

// Answer answers with an AWS error of this code and does not carry the call out.
func Answer(code string, operations ...string) Fault {
	return Fault{On: operations, Err: &Error{Code: code}}
}

// Throttle answers with a ThrottlingException, which the SDK retries.
func Throttle(operations ...string) Fault {
	return Fault{On: operations, Err: &Error{Code: "ThrottlingException", Message: "Rate exceeded"}}
}

// Delay lets calls wait before they are sent.
func Delay(d time.Duration, operations ...string) Fault { return Fault{On: operations, Delay: d} }

// Next limits the fault to the next n calls.
func (f Fault) Next(n int) Fault {
	f.Times = n
	return f
}

// From lets the fault begin with the nth call from now, counted from 1.
func (f Fault) From(n int) Fault {
	f.Skip = n - 1
	return f
}

// EveryNth limits the fault to every nth call.
func (f Fault) EveryNth(n int) Fault {
	f.Every = n
	return f
}

// WithProbability limits the fault to random calls; see [Fault.Probability].
func (f Fault) WithProbability(p float64, seed uint64) Fault {
	f.Probability, f.Seed = p, seed
	return f
}

// If limits the fault to calls that match. The function may read the call's body.
func (f Fault) If(match func(*Call) bool) Fault {
	f.Match = match
	return f
}

// With sets the error that the client gets.
func (f Fault) With(err error) Fault {
	f.Err = err
	return f
}

// Writes returns the operations of DynamoDB that write items.
func Writes() []string {
	return []string{
		"dynamodb.PutItem",
		"dynamodb.UpdateItem",
		"dynamodb.DeleteItem",
		"dynamodb.BatchWriteItem",
		"dynamodb.TransactWriteItems",
	}
}

// Injection is a fault in effect; see [Transport.Inject].
type Injection struct {
	fault   Fault
	remove  func()
	mu      sync.Mutex
	random  *rand.Rand
	matches int
	strikes int
}

// Strikes returns how many calls the fault has struck.
func (i *Injection) Strikes() int {
	i.mu.Lock()
	defer i.mu.Unlock()

	return i.strikes
}

// Remove ends the fault.
func (i *Injection) Remove() { i.remove() }

// strike reports whether the fault strikes the call, and counts it.
func (i *Injection) strike(c *Call) bool {
	f := i.fault
	if !c.Is(f.On...) || f.Match != nil && !f.Match(c) {
		return false
	}

	i.mu.Lock()
	defer i.mu.Unlock()

	i.matches++

	switch n := i.matches - f.Skip; {
	case n <= 0,
		f.Every > 0 && n%f.Every != 0,
		f.Probability > 0 && i.random.Float64() >= f.Probability,
		f.Times > 0 && i.strikes >= f.Times:
		return false
	}

	i.strikes++

	return true
}

// wait waits for d or, if that is sooner, for the end of ctx, and returns its error.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}

	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
