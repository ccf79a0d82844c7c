package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ratchet/payments"
	"ratchet/payments/sandbox"
)

// ErrUnnamed means that neither the settings nor the program name the bank or the carrier. On AWS a
// sandbox is used only if the settings name it.
var ErrUnnamed = errors.New("must be named")

var (
	errNoBank    = fmt.Errorf("bank: %w: set bank to sandbox, which moves no money, or run a program that brings a payments.Processor (docs/guides/own-parts.md)", ErrUnnamed)
	errNoCarrier = fmt.Errorf("carrier: %w: set carrier to a URL, to execution:ARN, or to sandbox, which moves no parcels, or run a program that brings a shipping.Carrier (docs/guides/own-parts.md)", ErrUnnamed)
)

// usesSandbox reports whether the sandbox is used for a bank or carrier that neither the settings nor
// the program name. It is not on AWS, where money and parcels are real.
func (b *Backend) usesSandbox() bool {
	return b.Engine != nil || b.awsConfig.BaseEndpoint != nil && !isOfAWS(*b.awsConfig.BaseEndpoint)
}

// isOfAWS reports whether the endpoint is AWS itself, for example an endpoint in a VPC.
func isOfAWS(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return true // the safe answer: no sandbox. No call can succeed anyway.
	}

	host := "." + strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))

	return slices.ContainsFunc([]string{".amazonaws.com", ".amazonaws.com.cn", ".api.aws"}, func(domain string) bool {
		return strings.HasSuffix(host, domain)
	})
}

// CheckBank returns an [ErrUnnamed] if there is no bank. Call it before you begin a step of a payment:
// without a bank the step would stay pending.
func (b *Backend) CheckBank() error {
	if _, none := b.processor.(noBank); none {
		return errNoBank
	}

	return nil
}

// checkSides fails if a shop has no bank or no carrier. A program's own workflow may need neither.
func (b *Backend) checkSides() error {
	if b.flow.own {
		return nil
	}

	err := b.CheckBank()
	if b.carrier == nil {
		err = errors.Join(err, errNoCarrier)
	}

	return err
}

// refusePayments refuses requests that would begin a step of a payment, because there is no bank to
// carry it out. Payments can still be read.
func refusePayments(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || !strings.HasPrefix(r.URL.Path, "/v1/payments/") {
			next.ServeHTTP(w, r)
			return
		}

		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(w).Encode(map[string]any{ // the caller has gone if this fails
			"title":  http.StatusText(http.StatusServiceUnavailable),
			"status": http.StatusServiceUnavailable,
			"detail": errNoBank.Error(),
		})
	})
}

// logSandboxes writes a line for each sandbox in use. With the embedded engine sandboxes are expected.
// Elsewhere the line is a warning.
func (b *Backend) logSandboxes(ctx context.Context) {
	level := slog.LevelWarn
	if b.Engine != nil {
		level = slog.LevelInfo
	}

	if b.Bank != nil && (!b.flow.own || b.Config.Bank == Sandbox) {
		b.log.Log(ctx, level, "the bank is a sandbox: no money moves")
	}

	if b.Carrier != nil && (!b.flow.own || b.Config.Carrier == Sandbox) {
		b.log.Log(ctx, level, "the carrier is a sandbox: no parcels move")
	}
}

// assembleBank chooses the processor of the payments.
func (b *Backend) assembleBank() (err error) {
	switch {
	case b.Config.Parts.Bank != nil:
		b.processor = b.Config.Parts.Bank
		return nil
	case b.Config.Bank != Sandbox && !b.usesSandbox():
		b.processor = noBank{}
		return nil
	}

	b.Bank, err = sandbox.New(sandbox.Config{
		DynamoDB:       b.DynamoDB,
		Table:          b.Tables.SandboxCharges,
		DeclinePercent: b.Config.DeclinePercent,
		TimeoutPercent: b.Config.TimeoutPercent,
	})
	b.processor = b.Bank

	return err
}

// noBank is the processor if no bank is named. Its errors are no answers of a processor, so a step that
// the bank of another program has made stays pending until that program asks its bank.
type noBank struct{}

func (noBank) Authorize(context.Context, payments.Request) (string, error) { return "", errNoBank }
func (noBank) Sale(context.Context, payments.Request) (string, error)      { return "", errNoBank }
func (noBank) Capture(context.Context, payments.Request) (string, error)   { return "", errNoBank }
func (noBank) Refund(context.Context, payments.Request) (string, error)    { return "", errNoBank }
func (noBank) Void(context.Context, string) error                          { return errNoBank }

func (noBank) Lookup(context.Context, string) (payments.Operation, error) {
	return payments.Operation{}, errNoBank
}

// noCarrier is the carrier of the booker if no carrier is named.
type noCarrier struct{}

func (noCarrier) Book(context.Context, string, string) (string, error) { return "", errNoCarrier }
func (noCarrier) Cancel(context.Context, string) (bool, error)         { return false, errNoCarrier }
