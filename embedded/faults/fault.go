package faults

import "time"

// Fault says which calls fail and how. It is plain data, apart from Match; make one
// with [LoseRequest], [LoseAnswer], [Answer], [Throttle] or [Delay] and narrow it
// with its methods, or write it as a literal.
//
// The fields On, Match, Skip, Every, Probability, Bucket and Times select calls, in this
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
	// the draws repeatable. The order in which concurrent calls get their draws is not repeatable.
	Probability float64
	Seed        uint64
	// Bucket selects the calls that find a token bucket empty, as AWS throttles calls. Each
	// operation has a bucket of its own, which holds Bucket tokens and gets Refill tokens a
	// second. Zero: no bucket.
	Bucket int
	Refill float64
	// Times is how many calls the fault strikes before it is spent.
	Times int
	// Answered selects calls by their answer, which must contain this text. It needs
	// AfterCommit.
	Answered string

	// Delay is how long a call waits before anything else happens to it. It ends
	// early, with the context's error, if the call's context ends.
	Delay time.Duration
	// Err takes the place of the answer. An *Error is answered over the wire, ErrThrottled and
	// ErrConflict become the answer of the call's service, and any other error is a broken
	// connection; a client in the same process gets that error itself. If Err is nil, the call is
	// only delayed.
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

// LoseToken loses the answers of GetActivityTask that have a task: the task is started, and no
// worker has its token.
func LoseToken() Fault {
	f := LoseAnswer("sfn.GetActivityTask")
	f.Answered = `"taskToken":"`

	return f
}

// Conflict refuses calls as if another transaction were working on one of their items: a
// transaction is canceled with the reason TransactionConflict for its first item, any other call
// gets a TransactionConflictException.
func Conflict(operations ...string) Fault { return Fault{On: operations, Err: ErrConflict} }

// ExpireIterators answers GetRecords with an ExpiredIteratorException, so that the reader has to
// get a new iterator.
func ExpireIterators() Fault { return Answer("ExpiredIteratorException", "dynamodbstreams.GetRecords") }

// Fail answers with the service's own server error, status 500, which the SDK retries.
func Fail(operations ...string) Fault { return Answer("InternalServerError", operations...) }

// ExceedThroughput refuses calls as their service refuses a caller above its quota:
// ProvisionedThroughputExceededException for items of DynamoDB, a transaction canceled with the
// reason ThrottlingError, LimitExceededException for stream records, RequestThrottled for SQS,
// ThrottlingException for everything else. The SDK retries all of them but the canceled
// transaction.
func ExceedThroughput(operations ...string) Fault { return Fault{On: operations, Err: ErrThrottled} }

// Throttle answers with a ThrottlingException, whatever the service, which the SDK retries.
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

// Above limits the fault to calls that find a bucket empty; see [Fault.Bucket].
func (f Fault) Above(bucket int, refill float64) Fault {
	f.Bucket, f.Refill = bucket, refill
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
