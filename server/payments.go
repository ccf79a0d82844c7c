package server

import (
	"ratchet/ledger"
	"ratchet/payments"
	"ratchet/payments/sandbox"
)

// assemblePayments builds the ledger, the sandbox bank, and the payments that use both.
func (b *Backend) assemblePayments() (err error) {
	if b.Ledger, err = ledger.New(ledger.Config{DynamoDB: b.DynamoDB, Tables: b.Tables.Ledger}); err != nil {
		return err
	}

	b.Bank, err = sandbox.New(sandbox.Config{
		DynamoDB:       b.DynamoDB,
		Table:          b.Tables.SandboxCharges,
		DeclinePercent: b.Config.DeclinePercent,
		TimeoutPercent: b.Config.TimeoutPercent,
	})
	if err != nil {
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
		Processor: b.Bank,
		Callbacks: callbacks,
	})

	return err
}
