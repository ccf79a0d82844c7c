package notify

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"ratchet/streams"
	"ratchet/webhooks"
)

// WebhookConfig configures a [Webhook]. Both fields are required.
type WebhookConfig struct {
	// Client signs and delivers. Closing the sink closes it.
	Client *webhooks.Client
	// URL is one that the client may deliver to.
	URL string
}

func (c WebhookConfig) check() error {
	if c.Client == nil {
		return errors.New("notify: WebhookConfig.Client: must be set")
	}

	if err := c.Client.CheckURL(c.URL); err != nil {
		return fmt.Errorf("notify: WebhookConfig.URL: %w", err)
	}

	return nil
}

// Webhook delivers each notification to a URL, signed. The id of the message is a digest of
// the notification's key, so that the receiver can drop repeats.
type Webhook struct{ cfg WebhookConfig }

// NewWebhook returns a sink. The error names the field that breaks a rule.
func NewWebhook(cfg WebhookConfig) (*Webhook, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	return &Webhook{cfg}, nil
}

// Send delivers the notification. If the endpoint asks for a pause with Retry-After, so does
// the error (streams.RetryAfter). If the endpoint is gone (410), the error is permanent
// (streams.Permanent).
func (w *Webhook) Send(ctx context.Context, n Notification) error {
	body, err := json.Marshal(map[string]any{"type": "order." + string(n.State), "timestamp": n.At, "data": n})
	if err != nil {
		return streams.Permanent(err)
	}

	err = w.cfg.Client.Deliver(ctx, w.cfg.URL, webhookID(n), body, http.Header{"Idempotency-Key": {n.Key}})

	var status *webhooks.StatusError
	if errors.As(err, &status) {
		err = streams.RetryAfter(err, status.RetryAfter)
	}

	switch {
	case errors.Is(err, webhooks.ErrGone):
		return streams.Permanent(fmt.Errorf("notify about order %s: %w", n.OrderID, err))
	case err != nil:
		return fmt.Errorf("notify about order %s: %w", n.OrderID, err)
	}

	return nil
}

// Close closes idle connections.
func (w *Webhook) Close() error { return w.cfg.Client.Close() }

// webhookID returns an id made of the characters that webhooks allow.
func webhookID(n Notification) string {
	const bytes = 18 // of the digest, 24 characters
	sum := sha256.Sum256([]byte(n.Key))

	return "ntf_" + base64.RawURLEncoding.EncodeToString(sum[:bytes])
}
