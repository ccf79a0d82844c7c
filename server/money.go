package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ratchet/ledger"
	"ratchet/payments"
	"ratchet/payments/sandbox"
	"ratchet/webhooks"
)

// assembleMoney builds the ledger, the sandbox bank and the payments between them.
func (b *Backend) assembleMoney(cfg Config) (err error) {
	if b.Ledger, err = ledger.New(ledger.Config{DynamoDB: b.DynamoDB, Tables: b.Tables.Ledger}); err != nil {
		return err
	}

	b.Gateway, err = sandbox.New(sandbox.Config{
		DynamoDB:       b.DynamoDB,
		Table:          b.Tables.SandboxCharges,
		DeclinePercent: cfg.DeclinePercent,
		TimeoutPercent: cfg.TimeoutPercent,
	})
	if err != nil {
		return err
	}

	paymentsConfig := payments.Config{DynamoDB: b.DynamoDB, Tables: b.Tables.payments(), Ledger: b.Ledger, Processor: b.Gateway}
	if cfg.CallbackSecret != "" {
		keys, err := webhookKeys("callback-secret", cfg.CallbackSecret)
		if err != nil {
			return err
		}
		paymentsConfig.Callbacks = keys
	}
	b.Payments, err = payments.New(paymentsConfig)

	return err
}

// webhookKeys reads the secrets of a setting, separated by spaces.
func webhookKeys(setting, value string) (*webhooks.Keys, error) {
	var secrets []webhooks.Secret
	for text := range strings.FieldsSeq(value) {
		secret, err := webhooks.ParseSecret(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
		secrets = append(secrets, secret)
	}

	if len(secrets) == 0 {
		return nil, fmt.Errorf("%s: must be set, like %s", setting, webhooks.NewSecret().Reveal())
	}

	keys, err := webhooks.New(webhooks.Config{Secrets: secrets})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}

	return keys, nil
}

const (
	// moneySweep is how often a worker looks for holds that have expired and payments
	// that another one left in the middle.
	moneySweep = 15 * time.Second
	sweepPage  = 500
)

// sweepMoney finishes what was left in the middle until ctx ends. Any number of workers
// may do so at once.
func (b *Backend) sweepMoney(ctx context.Context) error {
	ticker := time.NewTicker(moneySweep)
	defer ticker.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}

		if err := errors.Join(b.releaseExpired(ctx), b.recoverPayments(ctx)); err != nil && ctx.Err() == nil {
			b.log.Warn("sweep of holds and payments; the next one goes on", "error", err)
		}
	}
}

func (b *Backend) releaseExpired(ctx context.Context) error {
	for {
		_, more, err := b.Ledger.ReleaseExpired(ctx, sweepPage)
		if !more { // the last call has met every hold that resists
			return err
		}
	}
}

func (b *Backend) recoverPayments(ctx context.Context) error {
	for after := ""; ; {
		r, err := b.Payments.Recover(ctx, after, sweepPage)
		if err != nil {
			return err
		}

		for _, left := range r.Left {
			b.log.Warn("a payment is still in the middle of a step", "payment", left.PaymentID, "reason", left.Reason)
		}

		if after = r.Next; after == "" {
			return nil
		}
	}
}
