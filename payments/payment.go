package payments

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"ratchet/once/ledger"
	"ratchet/workflow"
)

// maxSteps is the highest number of captures of one payment, and of refunds. It prevents no void, no
// expiry and no refund of Cancel.
const maxSteps = 50

// NewPayment describes a payment to open.
type NewPayment struct {
	// ID has 1 to 81 of A-Z a-z 0-9 . _ : -: a tenant's name of 20, a colon and 60.
	ID string `json:"id"`
	// OrderID has 1 to 256 bytes. The id of an order of package transitions has at most 128.
	OrderID string `json:"orderId"`
	// Payer is the account of the ledger that pays: a customer's, or the processor's
	// clearing account. Payee is the account that the captures are credited to.
	Payer string `json:"payer"`
	Payee string `json:"payee"`
	// Amount is the most that may be captured, in minor units of Currency (ISO 4217).
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	// ExpiresAt is the time from which nothing can be captured, and Recover releases the rest. Zero:
	// never.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

// StepRequest describes a capture or a refund.
type StepRequest struct {
	// ID names the step within its payment and is never used for another one: 1 to 36 of
	// A-Z a-z 0-9 . _ : -, but not authorize, void, expire or chargeback.
	ID string `json:"id"`
	// Amount is in minor units of the payment's currency, above 0.
	Amount int64 `json:"amount"`
	// Final marks the last capture: it releases the rest of the authorized amount.
	Final bool `json:"final,omitempty"`

	cancels bool // a refund of Cancel, which no number of other refunds prevents
	swept   bool // an expiry by Recover, which may come only after the payment's end
}

// Kind is the kind of a step. The texts are stored and never change.
type Kind string

// The kinds of steps that move money in the ledger.
const (
	Charging     Kind = "charge"
	Capturing    Kind = "capture"
	Refunding    Kind = "refund"
	ChargingBack Kind = "chargeback"
)

// The other kinds of steps.
const (
	authorizing Kind = "authorize"
	voiding     Kind = "void"
	expiring    Kind = "expire"
)

// reservedIDs are the kinds that a payment has at most one step of. The kind is the step's id.
var reservedIDs = []Kind{authorizing, voiding, expiring, ChargingBack}

// ledgerOwner owns the holds and transfers of payments in the ledger. The hold of a payment has the
// id paymentId#payment. The transfer of a step has the id paymentId/stepId#payment. Both texts below
// are stored.
const (
	ledgerOwner = "payment"
	// transferReference begins the reference of a transfer. The kind of the step follows.
	transferReference = "payment "
)

// ParseTransfer reports whether a transfer of the ledger was made by a step of a payment.
// Key is paymentId/stepId.
func ParseTransfer(t ledger.Transfer) (key string, kind Kind, ok bool) {
	key, ok = strings.CutSuffix(t.ID, "#"+ledgerOwner)
	if !ok {
		return "", "", false
	}

	return key, Kind(strings.TrimPrefix(t.Reference, transferReference)), true
}

// Outcome is the result of a step.
type Outcome string

// A step is pending until the processor's answer is stored.
const (
	Pending   Outcome = "pending"
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
)

// Step is one stage of a payment. Except for a chargeback, it stands for a request to the processor.
type Step struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	// Amount is in minor units of the payment's currency.
	Amount  int64   `json:"amount,omitempty"`
	Final   bool    `json:"final,omitempty"`
	Outcome Outcome `json:"outcome"`
	// Reference is the processor's own id of the operation.
	Reference string `json:"reference,omitempty"`
	// Reason says why the step failed. If a step succeeded and a suspense account was credited, Reason
	// is "credited to " and the account's id.
	Reason string `json:"reason,omitempty"`
	// At is when the step began while it is pending, and when it ended after that.
	At time.Time `json:"at"`
}

// Payment is a payment at the moment it was read. Amounts are in minor units.
type Payment struct {
	NewPayment
	State workflow.State `json:"state"`
	// Capturable is the amount that is still set aside on the payer's account.
	Capturable int64 `json:"capturable"`
	Captured   int64 `json:"captured"`
	Refunded   int64 `json:"refunded"`
	// Uncollected is the part of Amount that was not captured, if the authorization expired before any
	// capture, or if the newest capture failed. It is 0 for a canceled payment, and also if the rest
	// expired after a capture. If the goods have left, a person must collect the money, for example by
	// a charge under another id.
	Uncollected int64 `json:"uncollected,omitempty"`
	// AtOnce means that the payment was opened by Charge and not by Authorize.
	AtOnce bool `json:"atOnce,omitempty"`
	// Canceled means that Cancel has closed the payment: nothing can be taken any more.
	Canceled bool `json:"canceled,omitempty"`
	// Revision grows by one with each write.
	Revision int64 `json:"revision"`
	// Pending is the step that has not ended, nil for none.
	Pending *Step `json:"pending,omitempty"`
	// Steps are the steps that have ended.
	Steps     []Step    `json:"steps"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`

	call  string // the call id of the newest write
	ended *Step  // the pending step that this write ends or overtakes
	// end is how this write compares the payment's end with the time of its attempt, empty for not.
	end string
	// begun: this call has stored the pending step, so no other call of the processor can have gone
	// without an answer before.
	begun bool
}

var (
	paymentRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._:-]{1,81}$`) })
	stepRule    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._:-]{1,36}$`) })
)

const maxOrderID = 256 // bytes

func checkPaymentID(id string) error {
	if !paymentRule().MatchString(id) {
		return fmt.Errorf("%w: id: 1 to 81 of A-Z a-z 0-9 . _ : -", ErrInvalid)
	}

	return nil
}

// Validate returns ErrInvalid with the first field that breaks a rule.
func (n NewPayment) Validate() error {
	if err := checkPaymentID(n.ID); err != nil {
		return err
	}

	if n.OrderID == "" || len(n.OrderID) > maxOrderID {
		return fmt.Errorf("%w: orderId: 1 to %d bytes", ErrInvalid, maxOrderID)
	}

	if n.Payee == n.Payer {
		return fmt.Errorf("%w: payee: must be another account than the payer", ErrInvalid)
	}

	// The ledger has rules for accounts, amounts and currencies.
	hold := ledger.NewHold{ID: n.ID, Account: n.Payer, Amount: n.Amount, Currency: n.Currency}
	move := ledger.Move(n.ID, n.Payer, n.Payee, max(n.Amount, 1), n.Currency)

	if err := cmp.Or(hold.Validate(), move.Validate()); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}

	return nil
}

// Validate returns ErrInvalid with the first field that breaks a rule.
func (r StepRequest) Validate() error {
	switch {
	case !stepRule().MatchString(r.ID) || slices.Contains(reservedIDs, Kind(r.ID)):
		return fmt.Errorf("%w: id: 1 to 36 of A-Z a-z 0-9 . _ : -, not one of %v", ErrInvalid, reservedIDs)
	case r.Amount < 1 || r.Amount > ledger.MaxAmount:
		return fmt.Errorf("%w: amount %d: 1 to %d", ErrInvalid, r.Amount, int64(ledger.MaxAmount))
	}

	return nil
}

// Step returns the payment's step with the id, pending or ended, nil if there is none.
func (p *Payment) Step(id string) *Step {
	if p.Pending != nil && p.Pending.ID == id {
		return p.Pending
	}

	for i := range p.Steps {
		if p.Steps[i].ID == id {
			return &p.Steps[i]
		}
	}

	return nil
}

// uncollected computes the field Uncollected.
func (p *Payment) uncollected() int64 {
	lost := p.State == "AUTH_EXPIRED"
	for _, s := range p.Steps {
		if s.Kind == Capturing {
			// The newest capture counts: one that succeeds after a failed one collects the amount after all.
			lost = s.Outcome == Failed
		}
	}

	if !lost || p.Canceled {
		return 0
	}

	return p.Amount - p.Captured
}

// count returns how many steps of the kind have ended.
func (p *Payment) count(kind Kind) (n int) {
	for _, s := range p.Steps {
		if s.Kind == kind {
			n++
		}
	}

	return n
}

// key returns the name of a step at the processor, and of its transfer and hold in the
// ledger.
func (p *Payment) key(step string) string { return p.ID + "/" + step }

// opening returns the kind of the step that opens the payment. It is also the step's id.
func (p *Payment) opening() Kind {
	if p.AtOnce {
		return Charging
	}

	return authorizing
}

// isOpening reports whether the step that opens the payment is pending. The ledger then has at most
// a hold of the payment, so a void may overtake the step.
func (p *Payment) isOpening() bool { return p.Pending != nil && p.Pending.Kind == p.opening() }

// next returns a copy of the payment for the next write: revision, time and call are new,
// and steps can be appended without changing p.
func (p Payment) next(now time.Time) Payment {
	p.Revision++
	p.call = newCallID()
	p.ended, p.end, p.begun = nil, "", false
	p.UpdatedAt = time.UnixMilli(now.UnixMilli()).UTC()
	// Copied, because an append to a shared array could change the steps of p, and a retry begins with
	// p again.
	p.Steps = append([]Step(nil), p.Steps...)

	return p
}

// expiredAt reports whether nothing can be captured any more.
func (p *Payment) expiredAt(now time.Time) bool {
	return !p.ExpiresAt.IsZero() && !now.Before(p.ExpiresAt)
}

// apply returns the payment after the event. It returns ErrState if the definition does
// not allow the event in the payment's state.
func (p Payment) apply(event workflow.Event) (Payment, error) {
	data := map[string]any{
		workflow.PaymentTotal:    p.Amount,
		workflow.PaymentCaptured: p.Captured,
		workflow.PaymentRefunded: p.Refunded,
	}

	decision, err := workflow.Payment().Decide(p.State, event, data, nil)
	if err != nil {
		return p, err
	}

	if decision.To == "" {
		return p, &stateError{paymentID: p.ID, state: p.State, event: event}
	}

	p.State = decision.To

	return p, nil
}
