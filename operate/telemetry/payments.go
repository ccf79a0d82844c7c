package telemetry

import (
	"errors"
	"time"

	"ratchet/payments"
)

var paymentMetrics = []Metric{
	{"ratchet_payment_calls_total", Counter, []string{"step", "result"}, "Calls of the payment processor; step is authorize, charge, capture, refund, void or expire; result is ok, declined, refused, or error if the call says nothing about what happened"},
	{"ratchet_payment_call_duration_seconds", Histogram, []string{"step"}, "Time that a call of the payment processor took"},
}

type paymentInstruments struct {
	calls counter
	took  histogram
}

func newPaymentInstruments(m *meter) paymentInstruments {
	in := paymentInstruments{
		calls: m.counter(paymentMetrics, "ratchet_payment_calls_total"),
		took:  m.histogram(paymentMetrics, "ratchet_payment_call_duration_seconds"),
	}

	for _, step := range []string{"authorize", "charge", "capture", "refund", "void", "expire"} {
		in.calls.zeroFor(step, "ok", "declined", "refused", "error")
	}

	return in
}

// PaymentEvents returns hooks that count.
func (t *Telemetry) PaymentEvents() payments.Events {
	in := t.payments

	return payments.Events{
		Called: func(step payments.Kind, took time.Duration, err error) {
			in.calls.inc(string(step), paymentResult(err))
			in.took.observe(took, string(step))
		},
	}
}

// paymentResult distinguishes the answers of a processor from errors.
func paymentResult(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, payments.ErrDeclined):
		return "declined"
	// These are answers: the processor has decided, and no retry changes them.
	case errors.Is(err, payments.ErrExpired), errors.Is(err, payments.ErrVoided), errors.Is(err, payments.ErrConflict):
		return "refused"
	}

	return "error"
}
