package streams

import "time"

// Retry says how failed calls of handlers are repeated. The pause before attempt n+1 is random,
// between one half and the whole of Base·2ⁿ⁻¹, and at most Max. It is longer if the error asks for
// it with RetryAfter.
//
// By default a record outlasts an outage of the far side: the calls are repeated for three days,
// and only then does the record become a dead letter.
type Retry struct {
	// Attempts is how many calls a record gets before it becomes a dead letter. 0 means any number
	// within For. A negative number means that the handler never gives up: neither a number of
	// calls nor For ends the retries.
	Attempts int
	// Base is the first pause. Default: 100 ms.
	Base time.Duration
	// Max is the longest pause. Default: 15 min.
	Max time.Duration
	// For is how long a record is retried after its first failure. Default: 72 h.
	For time.Duration
}
