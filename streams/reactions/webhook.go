package reactions

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ratchet/streams"
)

// Webhook posts each notification to a URL, signed as Standard Webhooks says
// (https://www.standardwebhooks.com): webhook-id is a digest of the notification
// key, so the receiver can drop repetitions. Redirects are failures.
type Webhook struct {
	url    string
	secret []byte
	client *http.Client
}

// webhookTimeout bounds one delivery.
const webhookTimeout = 15 * time.Second

// NewWebhook checks the URL (http or https, with a host, without user information)
// and the secret (24 to 64 bytes).
func NewWebhook(rawURL string, secret []byte) (*Webhook, error) {
	u, err := url.Parse(rawURL)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil {
		return nil, errors.New("webhook: the URL must be http(s)://host/... without user information")
	}
	if len(secret) < 24 || len(secret) > 64 {
		return nil, fmt.Errorf("webhook: the secret has %d bytes; Standard Webhooks asks for 24 to 64", len(secret))
	}
	return &Webhook{url: rawURL, secret: secret, client: &http.Client{
		Timeout:       webhookTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Send posts the notification. Answers 2xx are success; 410 is final; anything else
// may be tried again.
func (w *Webhook) Send(ctx context.Context, n Notification) error {
	body, err := json.Marshal(map[string]any{"type": "order." + string(n.State), "timestamp": n.At, "data": n})
	if err != nil {
		return streams.Permanent(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return streams.Permanent(err)
	}
	id, sent := webhookID(n), strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, w.secret)
	_, _ = mac.Write([]byte(id + "." + sent + "." + string(body))) // a hash does not fail
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Webhook-Id", id)
	request.Header.Set("Webhook-Timestamp", sent)
	request.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	request.Header.Set("Idempotency-Key", n.Key)
	response, err := w.client.Do(request)
	if err != nil {
		return fmt.Errorf("notify about order %s: %w", n.OrderID, err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 20<<10)) // so that the connection can be used again
	switch {
	case response.StatusCode/100 == 2:
		return nil
	case response.StatusCode == http.StatusGone:
		return streams.Permanent(fmt.Errorf("notify about order %s: the endpoint is gone (410)", n.OrderID))
	}
	return fmt.Errorf("notify about order %s: the endpoint answered %d", n.OrderID, response.StatusCode)
}

// webhookID is the key without what the standard forbids in an id: a dot would make
// the signed text ambiguous.
func webhookID(n Notification) string {
	sum := sha256.Sum256([]byte(n.Key))
	return "ntf_" + base64.RawURLEncoding.EncodeToString(sum[:18])
}
