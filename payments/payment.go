package payments

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/ledger"
	"ratchet/workflow"
)

// MaxSteps is how many captures, and how many refunds, one payment may have. What ends
// it always has room.
const MaxSteps = 50

// NewPayment is a payment to be.
type NewPayment struct {
	// ID has 1 to 60 of A-Z a-z 0-9 . _ : -.
	ID      string `json:"id"`
	OrderID string `json:"orderId"`
	// Payer and Payee are accounts of the ledger: where the money comes from (a
	// customer's, or the processor's clearing account) and where captures go.
	Payer string `json:"payer"`
	Payee string `json:"payee"`
	// Amount is what may be captured, in minor units of Currency (ISO 4217).
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	// ExpiresAt is when what was not captured is given up. Zero: never.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

// Ask is a capture or a refund to be.
type Ask struct {
	// ID names the step within its payment for good: 1 to 36 of A-Z a-z 0-9 . _ : -.
	ID string `json:"id"`
	// Amount is in minor units of the payment's currency, above 0.
	Amount int64 `json:"amount"`
	// Final tells of a capture that it is the last: the rest is given up.
	Final bool `json:"final,omitempty"`
}

// Kind is what a step does. The texts are stored and never renamed.
type Kind string

// The kinds of steps.
const (
	Authorizing  Kind = "authorize"
	Capturing    Kind = "capture"
	Refunding    Kind = "refund"
	Voiding      Kind = "void"
	Expiring     Kind = "expire"
	ChargingBack Kind = "chargeback"
)

// LedgerOwner is who owns the holds and transfers of payments in the ledger: a
// payment's hold is paymentId#payment, the transfer of a step paymentId/stepId#payment.
// TransferReference begins the transfer's reference; the step's kind follows.
const (
	LedgerOwner       = "payment"
	TransferReference = "payment "
)

// own are the kinds of which a payment has at most one step, named after its kind.
var own = []Kind{Authorizing, Voiding, Expiring, ChargingBack}

// Outcome is what became of a step.
type Outcome string

// A step is pending until the processor's answer is written down.
const (
	Pending   Outcome = "pending"
	Succeeded Outcome = "succeeded"
	Failed    Outcome = "failed"
)

// Step is one thing that was asked of the processor.
type Step struct {
	ID      string  `json:"id"`
	Kind    Kind    `json:"kind"`
	Amount  int64   `json:"amount,omitempty"`
	Final   bool    `json:"final,omitempty"`
	Outcome Outcome `json:"outcome"`
	// Reference is the processor's own name for it; Reason why it failed.
	Reference string    `json:"reference,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	At        time.Time `json:"at"`
}

// Payment is a payment as it was when it was read.
type Payment struct {
	NewPayment
	State workflow.State `json:"state"`
	// Capturable is what is still set aside; Captured and Refunded what was taken and
	// given back.
	Capturable int64 `json:"capturable"`
	Captured   int64 `json:"captured"`
	Refunded   int64 `json:"refunded"`
	// Revision grows by one with each change.
	Revision int64 `json:"revision"`
	// Pending is the step under way, nil for none; Steps are the finished ones.
	Pending   *Step     `json:"pending,omitempty"`
	Steps     []Step    `json:"steps"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`

	call  string // of the last writer
	ended *Step  // the step that this write ends or overtakes
}

var (
	paymentRule = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,60}$`)
	stepRule    = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,36}$`)
)

// Validate names the first field that breaks a rule.
func (n NewPayment) Validate() error {
	if !paymentRule.MatchString(n.ID) {
		return fmt.Errorf("%w: id: 1 to 60 of A-Z a-z 0-9 . _ : -", ErrInvalid)
	}

	if n.OrderID == "" || len(n.OrderID) > 256 {
		return fmt.Errorf("%w: orderId: 1 to 256 bytes", ErrInvalid)
	}

	if n.Payee == n.Payer {
		return fmt.Errorf("%w: payee: must be another account than the payer", ErrInvalid)
	}
	hold := ledger.NewHold{ID: n.ID, Account: n.Payer, Amount: n.Amount, Currency: n.Currency}

	err := cmp.Or(hold.Validate(), ledger.Move(n.ID, n.Payer, n.Payee, max(n.Amount, 1), n.Currency).Validate())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}

	return nil
}

// Validate names the first field that breaks a rule.
func (a Ask) Validate() error {
	switch {
	case !stepRule.MatchString(a.ID) || slices.Contains(own, Kind(a.ID)):
		return fmt.Errorf("%w: id: 1 to 36 of A-Z a-z 0-9 . _ : -, not one of %v", ErrInvalid, own)
	case a.Amount < 1 || a.Amount > ledger.MaxAmount:
		return fmt.Errorf("%w: amount %d: 1 to %d", ErrInvalid, a.Amount, int64(ledger.MaxAmount))
	}

	return nil
}

// step finds a step by its id, under way or finished.
func (p *Payment) step(id string) *Step {
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

// count is how many finished steps are of the kind.
func (p *Payment) count(kind Kind) (n int) {
	for _, s := range p.Steps {
		if s.Kind == kind {
			n++
		}
	}

	return n
}

// key names a step to the processor, and its transfer and hold to the ledger.
func (p *Payment) key(step string) string { return p.ID + "/" + step }

// with is a copy of the payment that may be changed: revision, steps and time are new.
func (p Payment) with(at time.Time) Payment {
	p.Revision++
	p.ended = nil
	p.UpdatedAt = time.UnixMilli(at.UnixMilli()).UTC()
	p.Steps = append([]Step(nil), p.Steps...)

	return p
}

// moved is the payment after the event, which the definition must allow from here.
func (p Payment) moved(event workflow.Event) (Payment, error) {
	decision, err := workflow.Payment().Decide(p.State, event, map[string]any{
		workflow.PaymentTotal: p.Amount, workflow.PaymentCaptured: p.Captured, workflow.PaymentRefunded: p.Refunded}, nil)
	if err != nil {
		return p, err
	}

	if decision.To == "" {
		return p, &StateError{PaymentID: p.ID, State: p.State, Event: event}
	}
	p.State = decision.To

	return p, nil
}

// Table describes the table of payments and receipts: key paymentId.
func Table(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey("paymentId"))
}

// DueTable describes the table of what Recover looks at: keys shard and due.
func DueTable(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey("shard"), dynamo.TextKey("due"))
}

func paymentKey(id string) dynamo.Item { return dynamo.Item{"paymentId": dynamo.S(id)} }

func milliseconds(t time.Time) types.AttributeValue { return dynamo.N(t.UnixMilli()) }

func (p Payment) item() dynamo.Item {
	i := paymentKey(p.ID)
	i["orderId"], i["payer"], i["payee"] = dynamo.S(p.OrderID), dynamo.S(p.Payer), dynamo.S(p.Payee)
	i["amount"], i["currency"], i["state"] = dynamo.N(p.Amount), dynamo.S(p.Currency), dynamo.S(string(p.State))

	i["capturable"], i["captured"], i["refunded"] = dynamo.N(p.Capturable), dynamo.N(p.Captured), dynamo.N(p.Refunded)
	i["revision"], i["createdAt"], i["updatedAt"] = dynamo.N(p.Revision), milliseconds(p.CreatedAt), milliseconds(p.UpdatedAt)
	i["call"] = dynamo.S(p.call)
	if !p.ExpiresAt.IsZero() {
		i["expiresAt"] = milliseconds(p.ExpiresAt)
	}

	if p.Pending != nil {
		i["pending"] = dynamo.M(p.Pending.item())
	}

	steps := make([]types.AttributeValue, len(p.Steps))
	for n, s := range p.Steps {
		steps[n] = dynamo.M(s.item())
	}
	i["steps"] = &types.AttributeValueMemberL{Value: steps}

	return i
}

func (s Step) item() dynamo.Item {
	i := dynamo.Item{"id": dynamo.S(s.ID), "kind": dynamo.S(string(s.Kind)), "amount": dynamo.N(s.Amount),
		"final": &types.AttributeValueMemberBOOL{Value: s.Final}, "outcome": dynamo.S(string(s.Outcome)), "at": milliseconds(s.At)}
	for name, text := range map[string]string{"reference": s.Reference, "reason": s.Reason} {
		if text != "" {
			i[name] = dynamo.S(text)
		}
	}

	return i
}

// paymentOf reads a payment, nil for no item.
func paymentOf(i dynamo.Item) *Payment {
	if len(i) == 0 {
		return nil
	}

	p := &Payment{NewPayment: NewPayment{ID: dynamo.Text(i, "paymentId"), OrderID: dynamo.Text(i, "orderId"), Payer: dynamo.Text(i, "payer"),
		Payee: dynamo.Text(i, "payee"), Amount: dynamo.Number(i, "amount"), Currency: dynamo.Text(i, "currency"), ExpiresAt: moment(i, "expiresAt")},
		State: workflow.State(dynamo.Text(i, "state")), Capturable: dynamo.Number(i, "capturable"), Captured: dynamo.Number(i, "captured"),
		Refunded: dynamo.Number(i, "refunded"), Revision: dynamo.Number(i, "revision"), CreatedAt: moment(i, "createdAt"),
		UpdatedAt: moment(i, "updatedAt"), call: dynamo.Text(i, "call"), Steps: []Step{}}
	if m, ok := i["pending"].(*types.AttributeValueMemberM); ok {
		s := stepOf(m.Value)
		p.Pending = &s
	}

	if list, ok := i["steps"].(*types.AttributeValueMemberL); ok {
		for _, v := range list.Value {
			if m, ok := v.(*types.AttributeValueMemberM); ok {
				p.Steps = append(p.Steps, stepOf(m.Value))
			}
		}
	}

	return p
}

func stepOf(i dynamo.Item) Step {
	final, _ := i["final"].(*types.AttributeValueMemberBOOL)
	return Step{ID: dynamo.Text(i, "id"), Kind: Kind(dynamo.Text(i, "kind")), Amount: dynamo.Number(i, "amount"), Final: final != nil && final.Value,
		Outcome: Outcome(dynamo.Text(i, "outcome")), Reference: dynamo.Text(i, "reference"), Reason: dynamo.Text(i, "reason"), At: moment(i, "at")}
}

func moment(i dynamo.Item, name string) time.Time {
	ms := dynamo.Number(i, name)
	if ms == 0 {
		return time.Time{}
	}

	return time.UnixMilli(ms).UTC()
}

// What a call can meet beside the gateway's errors.
var (
	// ErrInvalid: an argument breaks a rule; the text names both.
	ErrInvalid = errors.New("invalid payment")
	// ErrUnknownPayment: there is no such payment.
	ErrUnknownPayment = errors.New("unknown payment")
	// ErrExceeded: more than may still be captured or refunded, or too many steps.
	ErrExceeded = errors.New("more than the payment allows")
	// ErrState: the payment's state does not allow it; see [StateError].
	ErrState = errors.New("the payment's state does not allow this")
	// ErrBusy: another step is under way. Retry when it has ended.
	ErrBusy = errors.New("another step of the payment is under way")
	// ErrUnresolved: the processor has not said what became of the step. Nothing is
	// lost: repeat the call, or let Recover or the processor's callback end it.
	ErrUnresolved = errors.New("the outcome of the step is not known yet")
)

// StateError is an event that the payment's state does not allow.
type StateError struct {
	PaymentID string
	State     workflow.State
	Event     workflow.Event
}

func (e *StateError) Error() string {
	return fmt.Sprintf("payment %s is %s: %s: %v", e.PaymentID, e.State, e.Event, ErrState)
}

// Unwrap is ErrState.
func (e *StateError) Unwrap() error { return ErrState }
