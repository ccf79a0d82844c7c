package server

import (
	"net/http"

	"ratchet/notify/webhooks"
)

// verifier checks the signatures of callbacks.
type verifier interface {
	Verify(h http.Header, body []byte) (webhooks.Message, error)
}

// callbackKeys returns a verifier of callbacks with the secrets of a setting. It returns nil if the
// setting is empty, and then every callback is refused.
func callbackKeys(setting string, secrets Secret) (verifier, error) {
	if secrets == "" {
		return nil, nil
	}

	return webhookKeys(setting, secrets)
}
