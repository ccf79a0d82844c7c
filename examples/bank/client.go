package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"ratchet/payments"
)

// bank is a payments.Processor that calls a bank over HTTP. The bank acts once per key, so every
// call may be repeated.
type bank struct {
	url, token string
	http       *http.Client
}

var _ payments.Processor = (*bank)(nil)

const (
	callTimeout = 10 * time.Second // the whole of one call
	maxAnswer   = 64 << 10         // bytes of an answer that are read
)

// newBank returns the bank at the URL, such as https://bank.example/v1.
func newBank(address, token string) (*bank, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("BANK_URL %q: must be http(s)://HOST[/PATH]", address)
	}

	// The default keeps two idle connections to a host, so most of many concurrent calls would open one of their own.
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // this program does not replace it
	transport.MaxIdleConnsPerHost = 64

	return &bank{address, token, &http.Client{Timeout: callTimeout, Transport: transport}}, nil
}

// operation is the body of a request and of an answer.
type operation struct {
	Kind          string `json:"kind,omitempty"`
	Authorization string `json:"authorization,omitempty"`
	OrderID       string `json:"orderId,omitempty"`
	Amount        int64  `json:"amount,omitempty"`
	Currency      string `json:"currency,omitempty"`

	Status    payments.OperationStatus `json:"status,omitempty"`
	Reference string                   `json:"reference,omitempty"`
}

// The kinds of operations.
const (
	authorize = "authorize"
	sale      = "sale"
	capture   = "capture"
	refund    = "refund"
)

func (b *bank) Authorize(ctx context.Context, r payments.Request) (string, error) {
	return b.put(ctx, authorize, r)
}

func (b *bank) Sale(ctx context.Context, r payments.Request) (string, error) {
	return b.put(ctx, sale, r)
}

func (b *bank) Capture(ctx context.Context, r payments.Request) (string, error) {
	return b.put(ctx, capture, r)
}

func (b *bank) Refund(ctx context.Context, r payments.Request) (string, error) {
	return b.put(ctx, refund, r)
}

func (b *bank) Void(ctx context.Context, key string) error {
	_, err := b.call(ctx, http.MethodDelete, key, nil)
	return err
}

// Lookup returns the zero Operation for a key that the bank does not know.
func (b *bank) Lookup(ctx context.Context, key string) (payments.Operation, error) {
	o, err := b.call(ctx, http.MethodGet, key, nil)
	// The zero Operation says that the key is unknown, which is an answer and not an error.
	if errors.Is(err, errUnknown) {
		return payments.Operation{}, nil
	}

	return payments.Operation{Status: o.Status, Amount: o.Amount, Currency: o.Currency, Reference: o.Reference}, err
}

func (b *bank) put(ctx context.Context, kind string, r payments.Request) (string, error) {
	o, err := b.call(ctx, http.MethodPut, r.Key, &operation{
		Kind:          kind,
		Authorization: r.Authorization,
		OrderID:       r.OrderID,
		Amount:        r.Amount,
		Currency:      r.Currency,
	})

	return o.Reference, err
}

// errUnknown means that the bank does not know the key.
var errUnknown = errors.New("unknown key")

// answers are the statuses with which the bank has decided. Every other failure says nothing
// about what happened, and payments then asks with Lookup.
var answers = map[int]error{
	http.StatusPaymentRequired: payments.ErrDeclined,
	http.StatusConflict:        payments.ErrConflict,
	http.StatusGone:            payments.ErrVoided,
	http.StatusNotFound:        errUnknown,
}

// call sends one request about the operation with the key. The key is also the Idempotency-Key.
func (b *bank) call(ctx context.Context, method, key string, body *operation) (answer operation, err error) {
	// Every error names the call; payments still finds the bank's decision with errors.Is.
	defer func() {
		if err != nil {
			err = fmt.Errorf("bank: %s %s: %w", method, key, err)
		}
	}()

	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return answer, err
		}
	}

	// A key holds slashes, and is one element of the path.
	request, err := http.NewRequestWithContext(ctx, method, b.url+"/operations/"+url.PathEscape(key), bytes.NewReader(text))
	if err != nil {
		return answer, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	request.Header.Set("Authorization", "Bearer "+b.token)

	response, err := b.http.Do(request)
	// The bank may have acted before the connection was lost.
	if err != nil {
		return answer, fmt.Errorf("%w: %w", payments.ErrTimeout, err)
	}
	defer response.Body.Close()

	if response.StatusCode != http.StatusOK {
		if decided, is := answers[response.StatusCode]; is {
			return answer, decided
		}

		// A 500 may come after the bank has acted, so it says as little as a lost answer.
		return answer, fmt.Errorf("%w: status %d", payments.ErrTimeout, response.StatusCode)
	}

	// An answer that cannot be read does not undo the operation: its outcome is unknown.
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&answer); err != nil {
		return answer, fmt.Errorf("%w: read the answer: %w", payments.ErrTimeout, err)
	}

	return answer, nil
}
