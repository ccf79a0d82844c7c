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

// Webhook delivers each notification to a URL, signed. The message's id is a digest of
// the notification's key, so that the receiver can drop repetitions.
type Webhook struct {
	client *webhooks.Client
	url    string
}

// NewWebhook checks the URL. The sink closes the client.
func NewWebhook(client *webhooks.Client, url string) (*Webhook, error) {
	if err := client.CheckURL(url); err != nil {
		return nil, err
	}
	return &Webhook{client: client, url: url}, nil
}

// Send delivers the notification. It is not tried again when the endpoint is gone.
func (w *Webhook) Send(ctx context.Context, n Notification) error {
	body, err := json.Marshal(map[string]any{"type": "order." + string(n.State), "timestamp": n.At, "data": n})
	if err != nil {
		return streams.Permanent(err)
	}

	err = w.client.Deliver(ctx, w.url, webhookID(n), body, http.Header{"Idempotency-Key": {n.Key}})
	switch {
	case errors.Is(err, webhooks.ErrGone):
		return streams.Permanent(fmt.Errorf("notify about order %s: %w", n.OrderID, err))
	case err != nil:
		return fmt.Errorf("notify about order %s: %w", n.OrderID, err)
	}

	return nil
}

// Close closes idle connections.
func (w *Webhook) Close() error { return w.client.Close() }

// webhookID is the key without what an id must not hold.
func webhookID(n Notification) string {
	sum := sha256.Sum256([]byte(n.Key))
	return "ntf_" + base64.RawURLEncoding.EncodeToString(sum[:18])
}
