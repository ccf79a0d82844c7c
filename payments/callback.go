package payments

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ratchet/ledger"
	"ratchet/webhooks"
)

// verifier is webhooks.Keys.
type verifier interface {
	Verify(h http.Header, body []byte) (webhooks.Message, error)
}

// MaxCallback is the largest callback that is read, in bytes.
const MaxCallback = 64 << 10

// What a callback can meet, beside what the verifier says of its signature.
var (
	// ErrCallback: the body is signed, but is no callback; the text names the field.
	ErrCallback = errors.New("malformed callback")
	// ErrNoCallbacks: no secret is configured, so nobody can be believed.
	ErrNoCallbacks = errors.New("callbacks are not configured")
)

// event is the body of a callback. Members that this package does not know are passed
// over; names are matched exactly, and none may come twice.
type event struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	// Data is a stepData for the types below, and anything for others.
	Data jsontext.Value `json:"data"`
}

// stepData says what happened to a step.
type stepData struct {
	// Key is what the step was asked for under: paymentId/stepId.
	Key      string `json:"key"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// The types of events. Others are acknowledged and do nothing.
const (
	eventSucceeded   = "payment.succeeded"
	eventFailed      = "payment.failed"
	eventExpired     = "payment.expired"
	eventChargedBack = "payment.charged_back"
)

// Effect is what a callback has done.
type Effect string

// The effects of callbacks. The texts are stored and never renamed.
const (
	// EffectEnded: it ended the step that it speaks of.
	EffectEnded Effect = "ended"
	// EffectNone: there was nothing to do, for instance because the step had ended.
	EffectNone Effect = "none"
	// EffectRepeated: this event had been taken before.
	EffectRepeated Effect = "repeated"
	// EffectParked: it does not fit the payment, or there is none; a person must look.
	EffectParked Effect = "parked"
)

// Received is a callback that was taken. Whatever the effect, the processor need not
// send it again.
type Received struct {
	EventID   string `json:"eventId"`
	Type      string `json:"type"`
	PaymentID string `json:"paymentId,omitempty"`
	Effect    Effect `json:"effect"`
	// Reason says why it was parked, or why there was nothing to do.
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`

	step, currency string
	amount         int64
	call           string // tells this call's receipt from another's
}

// Callback takes what the processor sent: the request's headers and the raw bytes of
// its body. An error means that it was not taken: a signature or body that is refused
// (webhooks.ErrSignature, ErrCallback, ...), or something that may pass, so that the
// processor should send it again.
func (s *Payments) Callback(ctx context.Context, h http.Header, body []byte) (Received, error) {
	if s.cfg.Callbacks == nil {
		return Received{}, ErrNoCallbacks
	}

	if len(body) > MaxCallback {
		return Received{}, fmt.Errorf("%w: more than %d bytes", ErrCallback, MaxCallback)
	}

	message, err := s.cfg.Callbacks.Verify(h, body)
	if err != nil {
		return Received{}, err
	}

	r, err := parse(message.Body)
	if err != nil {
		return Received{}, err
	}

	r.call, r.EventID, r.At = newCall(), message.ID, time.UnixMilli(s.cfg.Now().UnixMilli()).UTC()
	if !known(r.Type) {
		return s.receive(ctx, r, EffectNone, "an unknown type of event")
	}

	p, err := s.Get(ctx, r.PaymentID)
	switch {
	case errors.Is(err, ErrUnknownPayment):
		return s.receive(ctx, r, EffectParked, "unknown payment")
	case err != nil:
		return Received{}, err
	case r.currency != p.Currency:
		return s.receive(ctx, r, EffectParked, "another currency")
	}

	switch r.Type {
	case eventSucceeded, eventFailed:
		return s.stepEvent(ctx, r, p)
	case eventExpired:
		return s.expiredEvent(ctx, r, p)
	}

	return s.chargebackEvent(ctx, r, p)
}

func known(eventType string) bool {
	switch eventType {
	case eventSucceeded, eventFailed, eventExpired, eventChargedBack:
		return true
	}

	return false
}

// parse reads a verified body; of a type that is not known only the type.
func parse(body []byte) (Received, error) {
	var e event
	if err := json.Unmarshal(body, &e); err != nil {
		return Received{}, fmt.Errorf("%w: %w", ErrCallback, err)
	}

	switch {
	case e.Type == "" || len(e.Type) > 100:
		return Received{}, fmt.Errorf("%w: type: 1 to 100 bytes", ErrCallback)
	case !known(e.Type):
		return Received{Type: e.Type}, nil
	case len(e.Data) == 0:
		return Received{}, fmt.Errorf("%w: data.key: paymentId/stepId", ErrCallback)
	}

	var data stepData
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return Received{}, fmt.Errorf("%w: data: %w", ErrCallback, err)
	}

	id, step, ok := strings.Cut(data.Key, "/")
	switch {
	case !ok || !paymentRule.MatchString(id) || !stepRule.MatchString(step):
		return Received{}, fmt.Errorf("%w: data.key: paymentId/stepId", ErrCallback)
	case data.Amount < 1 || data.Amount > ledger.MaxAmount:
		return Received{}, fmt.Errorf("%w: data.amount: 1 to %d", ErrCallback, int64(ledger.MaxAmount))
	}

	return Received{Type: e.Type, PaymentID: id, step: step, amount: data.Amount, currency: data.Currency}, nil
}

// stepEvent says that the processor has ended a step. What it says is not believed:
// the step is finished by asking the processor.
func (s *Payments) stepEvent(ctx context.Context, r Received, p Payment) (Received, error) {
	step := p.step(r.step)
	said := map[string]Outcome{eventSucceeded: Succeeded, eventFailed: Failed}[r.Type]
	switch {
	case step == nil:
		return s.receive(ctx, r, EffectParked, "unknown step")
	case step.Amount != r.amount:
		return s.receive(ctx, r, EffectParked, "another amount")
	case step.Outcome == said:
		return s.receive(ctx, r, EffectNone, "the step had ended so")
	case step.Outcome != Pending:
		return s.receive(ctx, r, EffectParked, "the step had ended otherwise")
	}

	now, err := s.finish(ctx, p, r.step, s.receipt(r, EffectEnded, ""))
	switch {
	case errors.Is(err, errSeen):
		r.Effect = EffectRepeated
		return r, nil
	case err != nil && !ended(err):
		return Received{}, err
	}

	if step := now.step(r.step); step != nil && step.Outcome != said {
		return s.receive(ctx, r, EffectParked, "the processor says otherwise when asked")
	}

	return s.receive(ctx, r, EffectEnded, "")
}

// expiredEvent says that an authorization has run out at the processor. Once something
// was captured it is late and means nothing.
func (s *Payments) expiredEvent(ctx context.Context, r Received, p Payment) (Received, error) {
	if p.State != "AUTHORIZED" || p.Pending != nil {
		return s.receive(ctx, r, EffectNone, "the payment is "+string(p.State))
	}

	op, err := s.cfg.Processor.Lookup(ctx, p.key(string(Authorizing)))
	switch {
	case err != nil:
		return Received{}, fmt.Errorf("callback for payment %s: %w", p.ID, err)
	case op.Status == OperationSucceeded:
		return s.receive(ctx, r, EffectParked, "the processor says otherwise when asked")
	}

	if _, err := s.begin(ctx, p.ID, Ask{ID: string(Expiring)}, Expiring); err != nil {
		return Received{}, err
	}

	return s.receive(ctx, r, EffectEnded, "")
}

// chargebackEvent says that the bank took the money back. It moves what the payee has
// of it to the payer's account, in the transaction that takes the receipt.
func (s *Payments) chargebackEvent(ctx context.Context, r Received, p Payment) (Received, error) {
	if p.Pending != nil {
		return Received{}, fmt.Errorf("callback for payment %s: %w", p.ID, ErrBusy)
	}
	rest := p.Captured - p.Refunded
	next := p.with(s.cfg.Now())
	next.call = newCall()

	next, err := next.moved("chargeback")
	switch {
	case errors.Is(err, ErrState):
		return s.receive(ctx, r, EffectParked, "the payment is "+string(p.State))
	case err != nil:
		return Received{}, err
	case r.amount != rest || p.Capturable > 0:
		return s.receive(ctx, r, EffectParked, "another amount than was captured and not refunded")
	}
	next.Steps = append(next.Steps, Step{ID: string(ChargingBack), Kind: ChargingBack, Amount: rest, Outcome: Succeeded, At: next.UpdatedAt})
	next.Refunded = p.Captured
	t := ledger.Move(p.key(string(ChargingBack)), p.Payee, p.Payer, rest, p.Currency)
	t.Reference = TransferReference + string(ChargingBack)

	_, err = s.ledger.Post(ctx, t, s.beside(next, []ledger.TxPart{s.receipt(r, EffectEnded, "")}))
	var refusal *ledger.Refusal
	switch {
	case errors.Is(err, errSeen):
		r.Effect = EffectRepeated
		return r, nil
	case errors.As(err, &refusal):
		return s.receive(ctx, r, EffectParked, refusal.Err.Error())
	case err != nil:
		return Received{}, fmt.Errorf("callback for payment %s: %w", p.ID, err)
	}

	return s.receive(ctx, r, EffectEnded, "")
}
