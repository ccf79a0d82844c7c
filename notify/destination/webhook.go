package destination

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"ratchet/notify"
	"ratchet/notify/webhooks"
)

// webhookConfig configures a webhook. Client and URL are required.
type webhookConfig struct {
	// Client signs and delivers. Closing the destination closes it.
	Client *webhooks.Client
	// URL is the address of the endpoint, which the client must be allowed to reach.
	URL string
	// Header are further headers.
	Header http.Header
	// Traceparent returns the W3C traceparent that is sent with a message, "" for none. Optional.
	Traceparent func(context.Context) string
	// HideAnswers keeps the text of answers from being stored.
	HideAnswers bool
}

func (c webhookConfig) check() error {
	if c.Client == nil {
		return errors.New("destination: Client: must be set")
	}

	if err := c.Client.CheckURL(c.URL); err != nil {
		return fmt.Errorf("destination: URL: %w", err)
	}

	return nil
}

// webhook delivers each message to a URL, signed.
type webhook struct{ cfg webhookConfig }

// newWebhook returns a destination. The error names the field that breaks a rule.
func newWebhook(cfg webhookConfig) (*webhook, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	return &webhook{cfg}, nil
}

// Send delivers the message. If the endpoint answers with Retry-After, the error has that pause
// (see notify.RetryAfter). The error wraps notify.ErrGone after 410, and notify.ErrRejected if the
// address is blocked.
func (w *webhook) Send(ctx context.Context, m notify.Message) (notify.Answer, error) {
	header := w.cfg.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	// Set last, so that no header of the endpoint replaces it.
	header.Set("Idempotency-Key", m.Key)

	if w.cfg.Traceparent != nil {
		if parent := w.cfg.Traceparent(ctx); parent != "" {
			header.Set("Traceparent", parent)
		}
	}

	answer, err := w.cfg.Client.Post(ctx, webhooks.Post{
		URL:         w.cfg.URL,
		ID:          m.ID,
		Body:        m.Body,
		ContentType: m.ContentType,
		Header:      header,
	})

	if w.cfg.HideAnswers {
		answer.Text = ""
	}

	var status *webhooks.StatusError
	if errors.As(err, &status) {
		err = notify.RetryAfter(err, status.RetryAfter)
	}

	switch {
	case errors.Is(err, webhooks.ErrGone):
		err = fmt.Errorf("%w: %w", notify.ErrGone, err)
	// The address is not tried again: only a change of the endpoint or of the reach can allow it.
	case errors.Is(err, webhooks.ErrBlocked):
		err = fmt.Errorf("%w: %w", notify.ErrRejected, err)
	}

	return notify.Answer(answer), err
}

// Close closes idle connections.
func (w *webhook) Close() error { return w.cfg.Client.Close() }
