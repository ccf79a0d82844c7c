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

	cfg := payments.Config{
		DynamoDB:  b.DynamoDB,
		Tables:    b.Tables.payments(),
		Ledger:    b.Ledger,
		Processor: b.Bank,
	}

	if b.Config.CallbackSecret != "" {
		// Assign only on success: a nil *webhooks.Keys in the interface would not be nil.
		keys, err := webhookKeys("callback-secret", b.Config.CallbackSecret)
		if err != nil {
			return err
		}

		cfg.Callbacks = keys
	}

	b.Payments, err = payments.New(cfg)

	return err
}
