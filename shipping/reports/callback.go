package reports

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"ratchet/shipping"
)

// Errors of a callback, in addition to the verifier's.
var (
	// ErrNoCallbacks means that no secret is configured, so no callback can be verified.
	ErrNoCallbacks = errors.New("callbacks of the carrier are not configured")
	// ErrCallback means that the body is signed but is no report. The text names the field.
	ErrCallback = errors.New("malformed callback of the carrier")
)

const (
	maxCallback = 64 << 10 // bytes of the body
	typePrefix  = "shipment."
)

// callback is the body of a callback. Unknown members are ignored, names are case-sensitive, and
// a duplicate name is an error.
type callback struct {
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	Data      shipping.Report `json:"data"`
}

// Callback receives a request of the carrier: its headers and the raw bytes of its body, at most
// 64 KiB, in the format of Standard Webhooks. The type is "shipment." and the milestone; the data
// is the report. If the signature or body is refused, Callback returns webhooks.ErrSignature,
// ErrCallback or another error of the verifier, and the callback has no effect. After any other error
// the carrier should send the callback again.
func (d *Receiver) Callback(ctx context.Context, h http.Header, body []byte) (Effect, error) {
	if d.cfg.Callbacks == nil {
		return "", ErrNoCallbacks
	}

	if len(body) > maxCallback {
		return "", fmt.Errorf("%w: more than %d bytes", ErrCallback, maxCallback)
	}

	message, err := d.cfg.Callbacks.Verify(h, body)
	if err != nil {
		return "", err
	}

	r, err := parse(message.Body)
	if err != nil {
		return "", err
	}

	effect, err := d.Receive(ctx, r)
	if errors.Is(err, shipping.ErrInvalidReport) {
		err = fmt.Errorf("%w: %w", ErrCallback, err)
	}

	return effect, err
}

func parse(body []byte) (shipping.Report, error) {
	var c callback
	if err := json.Unmarshal(body, &c); err != nil {
		return shipping.Report{}, fmt.Errorf("%w: %w", ErrCallback, err)
	}

	// The type and the milestone must say the same. If they differ, the carrier gets an error and no
	// guess.
	if c.Type != typePrefix+string(c.Data.Milestone) {
		return shipping.Report{}, fmt.Errorf("%w: type: must be %q and the milestone", ErrCallback, typePrefix)
	}

	return c.Data, nil
}
