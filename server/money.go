package server

import (
	"fmt"
	"strings"

	"ratchet/ledger"
	"ratchet/payments"
	"ratchet/webhooks"
)

// assembleMoney builds the ledger, the sandbox bank and the payments between them.
func (b *Backend) assembleMoney(cfg Config) (err error) {
	if b.Ledger, err = ledger.New(ledger.Config{DynamoDB: b.DynamoDB, Tables: b.Tables.Ledger}); err != nil {
		return err
	}
	b.Gateway = &payments.Sandbox{DynamoDB: b.DynamoDB, Table: b.Tables.SandboxCharges,
		DeclinePercent: uint32(cfg.DeclinePercent), TimeoutPercent: uint32(cfg.TimeoutPercent)}
	paymentsConfig := payments.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Payments, Ledger: b.Ledger, Processor: b.Gateway}
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
