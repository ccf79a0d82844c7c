package server

import (
	"ratchet/once/ledger"
	"ratchet/payments"
)

// assemblePayments builds the ledger, the bank, and the payments that use both.
func (b *Backend) assemblePayments() (err error) {
	if b.Ledger, err = ledger.New(ledger.Config{DynamoDB: b.DynamoDB, Tables: b.Tables.Ledger}); err != nil {
		return err
	}

	if err := b.assembleBank(); err != nil {
		return err
	}

	callbacks, err := callbackKeys("callback-secret", b.Config.CallbackSecret)
	if err != nil {
		return err
	}

	b.Payments, err = payments.New(payments.Config{
		DynamoDB:  b.DynamoDB,
		Tables:    b.Tables.payments(),
		Ledger:    b.Ledger,
		Processor: b.Tracing.Processor(b.processor),
		Callbacks: callbacks,
		Events:    b.Telemetry.PaymentEvents(),
	})

	return err
}
