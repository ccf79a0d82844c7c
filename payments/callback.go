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

	"ratchet/notify/webhooks"
	"ratchet/once/ledger"
)

// verifier has the method of webhooks.Keys that this package calls.
type verifier interface {
	Verify(h http.Header, body []byte) (webhooks.Message, error)
}

const (
	maxCallback  = 64 << 10 // bytes of the body
	maxEventType = 100      // bytes
)

// event is the body of a callback. Unknown members are ignored. Names are case-sensitive,
// and a duplicate name is an error.
type event struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	// Data is a stepData for the types of events below. For other types it may be anything.
	Data jsontext.Value `json:"data"`
}

// stepData identifies a step and its amount.
type stepData struct {
	// Key is the key of the step's request: paymentId/stepId.
	Key string `json:"key"`
	// Amount is in minor units of Currency.
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// The types of events. An event of another type gets a receipt and changes nothing.
const (
	eventSucceeded   = "payment.succeeded"
	eventFailed      = "payment.failed"
	eventExpired     = "payment.expired"
	eventChargedBack = "payment.charged_back"
)

// Effect says how a callback was handled.
type Effect string

// The effects of callbacks. The texts are stored and never change.
const (
	// EffectEnded means that the step of the callback has ended.
	EffectEnded Effect = "ended"
	// EffectNone means that there was nothing to do, for example because the step had
	// ended before.
	EffectNone Effect = "none"
	// EffectRepeated means that the event was received before.
	EffectRepeated Effect = "repeated"
	// EffectParked means that the event does not fit the payment, or that there is no such
	// payment. A person must look at it.
	EffectParked Effect = "parked"
)

// Received is a callback that was received. With every effect, the processor need not send the
// callback again.
type Received struct {
	EventID   string `json:"eventId"`
	Type      string `json:"type"`
	PaymentID string `json:"paymentId,omitempty"`
	Effect    Effect `json:"effect"`
	// Reason says why the event was parked, or why there was nothing to do.
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`

	step, currency string
	amount         int64
	call           string // the call id, so that the call recognizes its own receipt
}

// errRepeated means that the event was received before.
var errRepeated = errors.New("the event was received before")

// Callback receives a request of the processor: its headers and the raw bytes of its body,
// at most 64 KiB. If the signature or body is refused, Callback returns webhooks.ErrSignature,
// ErrCallback or another error of the verifier, and the callback has no effect. After any other error
// the processor should send the callback again.
func (s *Payments) Callback(ctx context.Context, h http.Header, body []byte) (Received, error) {
	if s.cfg.Callbacks == nil {
		return Received{}, ErrNoCallbacks
	}

	if len(body) > maxCallback {
		return Received{}, fmt.Errorf("%w: more than %d bytes", ErrCallback, maxCallback)
	}

	message, err := s.cfg.Callbacks.Verify(h, body)
	if err != nil {
		return Received{}, err
	}

	r, err := parseEvent(message.Body)
	if err != nil {
		return Received{}, err
	}

	r.EventID = message.ID
	// In the precision of the record, so that a later read returns the same time.
	r.At = time.UnixMilli(s.clock.Now().UnixMilli()).UTC()
	r.call = newCallID()

	if !isKnownEvent(r.Type) {
		return s.storeReceipt(ctx, r, EffectNone, "an unknown type of event")
	}

	p, err := s.Get(ctx, r.PaymentID)
	switch {
	// Parked and not refused: after a refusal the processor would send the callback again for days, and
	// the payment may never be created.
	case errors.Is(err, ErrUnknownPayment):
		return s.storeReceipt(ctx, r, EffectParked, "unknown payment")
	case err != nil:
		return Received{}, err
	case r.currency != p.Currency:
		return s.storeReceipt(ctx, r, EffectParked, "another currency")
	}

	switch r.Type {
	case eventSucceeded, eventFailed:
		return s.stepEvent(ctx, r, p)
	case eventExpired:
		return s.expiredEvent(ctx, r, p)
	}

	return s.chargebackEvent(ctx, r, p)
}

func isKnownEvent(eventType string) bool {
	switch eventType {
	case eventSucceeded, eventFailed, eventExpired, eventChargedBack:
		return true
	}

	return false
}

// parseEvent reads a verified body. If the type of event is unknown, it reads the type only.
func parseEvent(body []byte) (Received, error) {
	var e event
	if err := json.Unmarshal(body, &e); err != nil {
		return Received{}, fmt.Errorf("%w: %w", ErrCallback, err)
	}

	switch {
	case e.Type == "" || len(e.Type) > maxEventType:
		return Received{}, fmt.Errorf("%w: type: 1 to %d bytes", ErrCallback, maxEventType)
	case !isKnownEvent(e.Type):
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
	case !ok || !paymentRule().MatchString(id) || !stepRule().MatchString(step):
		return Received{}, fmt.Errorf("%w: data.key: paymentId/stepId", ErrCallback)
	case data.Amount < 1 || data.Amount > ledger.MaxAmount:
		return Received{}, fmt.Errorf("%w: data.amount: 1 to %d", ErrCallback, int64(ledger.MaxAmount))
	}

	return Received{Type: e.Type, PaymentID: id, step: step, amount: data.Amount, currency: data.Currency}, nil
}

// stepEvent handles an event that says that the processor has ended a step. It does not rely on the
// event: it asks the processor and finishes the step with the answer.
func (s *Payments) stepEvent(ctx context.Context, r Received, p Payment) (Received, error) {
	said := Succeeded
	if r.Type == eventFailed {
		said = Failed
	}

	step := p.Step(r.step)
	switch {
	case step == nil:
		return s.storeReceipt(ctx, r, EffectParked, "unknown step")
	case step.Amount != r.amount:
		return s.storeReceipt(ctx, r, EffectParked, "another amount")
	case step.Outcome == said:
		return s.storeReceipt(ctx, r, EffectNone, "the step had ended so")
	// A stored answer never changes, so a person must find out which side is wrong: the payment or the
	// event.
	case step.Outcome != Pending:
		return s.storeReceipt(ctx, r, EffectParked, "the step had ended otherwise")
	}

	effect := func(ended Step) (Effect, string) {
		switch {
		case ended.Outcome == said:
			return EffectEnded, ""
		case ended.Reason == reasonClosed || ended.Reason == reasonRefused:
			return EffectParked, "the money goes back: " + ended.Reason
		}

		return EffectParked, "the processor says otherwise when asked"
	}

	now, err := s.finish(ctx, p, r.step, func(ended Step) ledger.TxPart {
		effect, reason := effect(ended)
		return s.receipt(r, effect, reason)
	})
	switch {
	case errors.Is(err, errRepeated):
		r.Effect = EffectRepeated
		return r, nil
	// The caller gets the error and the processor sends the event again.
	case err != nil && !isRefusal(err):
		return Received{}, err
	}

	// If another call ended the step, finish has not written this receipt.
	ended := now.Step(r.step)
	if ended == nil { // a void has overtaken the step
		return s.storeReceipt(ctx, r, EffectEnded, "")
	}
	what, reason := effect(*ended)

	return s.storeReceipt(ctx, r, what, reason)
}

// expiredEvent handles an event that says that an authorization has expired at the processor. After
// a capture the event is late and changes nothing.
func (s *Payments) expiredEvent(ctx context.Context, r Received, p Payment) (Received, error) {
	// If a capture is pending, the processor's answer to it says whether the authorization has expired.
	if p.State != "AUTHORIZED" || p.Pending != nil {
		return s.storeReceipt(ctx, r, EffectNone, "the payment is "+string(p.State))
	}

	op, err := s.cfg.Processor.Lookup(ctx, p.key(string(authorizing)))
	switch {
	case err != nil:
		return Received{}, fmt.Errorf("callback for payment %s: %w", p.ID, err)
	case op.Status == OperationSucceeded:
		return s.storeReceipt(ctx, r, EffectParked, "the processor says otherwise when asked")
	}

	if _, err := s.do(ctx, p.ID, StepRequest{ID: string(expiring)}, expiring); err != nil {
		return Received{}, err
	}

	return s.storeReceipt(ctx, r, EffectEnded, "")
}

// chargebackEvent handles an event that says that the bank took the money back. It moves the amount
// that was captured and not refunded from the payee's account to the payer's. The same transaction
// writes the receipt.
func (s *Payments) chargebackEvent(ctx context.Context, r Received, p Payment) (Received, error) {
	// The pending step may move money, so the amount that the bank took back cannot be checked yet.
	// The processor sends the event again.
	if p.Pending != nil {
		return Received{}, fmt.Errorf("callback for payment %s: %w", p.ID, ErrBusy)
	}

	rest := p.Captured - p.Refunded

	next, err := p.next(s.clock.Now()).apply("chargeback")
	switch {
	case errors.Is(err, ErrState):
		return s.storeReceipt(ctx, r, EffectParked, "the payment is "+string(p.State))
	case err != nil:
		return Received{}, err
	// A chargeback of a part is parked: no state says that a part was charged back.
	case r.amount != rest || p.Capturable > 0:
		return s.storeReceipt(ctx, r, EffectParked, "another amount than was captured and not refunded")
	}

	next.Refunded = p.Captured
	next.Steps = append(next.Steps, Step{
		ID:      string(ChargingBack),
		Kind:    ChargingBack,
		Amount:  rest,
		Outcome: Succeeded,
		At:      next.UpdatedAt,
	})

	t := ledger.Move(p.key(string(ChargingBack)), p.Payee, p.Payer, rest, p.Currency)
	t.Reference = transferReference + string(ChargingBack)

	_, err = s.ledger.Post(ctx, t, s.txPart(next, []ledger.TxPart{s.receipt(r, EffectEnded, "")}))
	var refusal *ledger.RefusedError
	switch {
	case errors.Is(err, errRepeated):
		r.Effect = EffectRepeated
		return r, nil
	// Parked, because an account that is closed or has too little would refuse each repeat, too.
	case errors.As(err, &refusal):
		return s.storeReceipt(ctx, r, EffectParked, refusal.Err.Error())
	case err != nil:
		return Received{}, fmt.Errorf("callback for payment %s: %w", p.ID, err)
	}

	return s.storeReceipt(ctx, r, EffectEnded, "")
}
