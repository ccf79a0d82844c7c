package payments

import "context"

// Request asks the processor for one step of a payment.
type Request struct {
	// Key names the step for good: a repeat returns the first answer.
	Key string
	// Authorization is the key of the payment's authorization; the step's own when it
	// is the authorization.
	Authorization string
	OrderID       string
	// Amount is in minor units of Currency, above 0.
	Amount   int64
	Currency string
}

// Operation is what a processor knows of a key.
type Operation struct {
	Status    OperationStatus
	Amount    int64
	Currency  string
	Reference string
}

// OperationStatus is what became of a key at the processor.
type OperationStatus string

// A key is unknown until something was done or refused under it.
const (
	OperationUnknown   OperationStatus = ""
	OperationSucceeded OperationStatus = "succeeded"
	OperationDeclined  OperationStatus = "declined"
	OperationVoided    OperationStatus = "voided"
)

// Processor holds, takes and returns the payer's money. Implementations honour keys.
// ErrDeclined, ErrVoided and ErrConflict are answers; every other error says nothing
// about what happened.
type Processor interface {
	// Authorize holds the money at the payer's bank.
	Authorize(ctx context.Context, r Request) (reference string, err error)
	// Capture takes a part of what is held, or all of it.
	Capture(ctx context.Context, r Request) (reference string, err error)
	// Refund returns a part of what was captured, or all of it.
	Refund(ctx context.Context, r Request) (reference string, err error)
	// Void gives up what is held under the key and refuses it from then on. It may be
	// called any number of times, also for a key of which nothing is known.
	Void(ctx context.Context, key string) error
	// Lookup tells what became of a key.
	Lookup(ctx context.Context, key string) (Operation, error)
}
