package payments

import "context"

// Request asks the processor for one step of a payment.
type Request struct {
	// Key names the step and is never used for another one. A repeat returns the first answer.
	Key string
	// Authorization is the key of the payment's authorization or sale. In the request for the
	// authorization or sale itself it equals Key.
	Authorization string
	OrderID       string
	// Amount is in minor units of Currency (ISO 4217), above 0.
	Amount   int64
	Currency string
}

// Operation is the processor's record of a key. The zero value means that there is none.
type Operation struct {
	Status OperationStatus
	// Amount is in minor units of Currency.
	Amount   int64
	Currency string
	// Reference is the processor's own id of the operation.
	Reference string
}

// OperationStatus is the result of an operation.
type OperationStatus string

// The results of an operation. A key without one has the empty status.
const (
	OperationSucceeded OperationStatus = "succeeded"
	OperationDeclined  OperationStatus = "declined"
	OperationVoided    OperationStatus = "voided"
)

// Processor holds, takes and returns the payer's money. It must act once per key.
// ErrDeclined, ErrVoided, ErrExpired and ErrConflict are answers: the step was not made. After any
// other error it is not known whether the step was made.
type Processor interface {
	// Authorize holds the money at the payer's bank.
	Authorize(ctx context.Context, r Request) (reference string, err error)
	// Sale holds and takes the money in one step. For a processor that has no sales, Sale authorizes
	// and captures. It derives the names of both requests from the key, so that a repeat finds them.
	Sale(ctx context.Context, r Request) (reference string, err error)
	// Capture takes a part of the held amount, or all of it.
	Capture(ctx context.Context, r Request) (reference string, err error)
	// Refund returns a part of the captured amount, or all of it.
	Refund(ctx context.Context, r Request) (reference string, err error)
	// Void releases the hold of the authorization with the key, or returns the money that the sale with
	// the key took. From then on the processor refuses the key. Void may be called any number of times,
	// also for an unknown key.
	Void(ctx context.Context, key string) error
	// Lookup returns the processor's record of a key.
	Lookup(ctx context.Context, key string) (Operation, error)
}
