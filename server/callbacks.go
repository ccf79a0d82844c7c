package server

import (
	"net/http"

	"ratchet/notify/webhooks"
)

// verifier checks the signatures of callbacks.
type verifier interface {
	Verify(h http.Header, body []byte) (webhooks.Message, error)
}

// callbackKeys returns what verifies callbacks with the secrets of a setting: nil if it is empty,
// which refuses every callback.
func callbackKeys(setting, secrets string) (verifier, error) {
	if secrets == "" {
		return nil, nil
	}

	return webhookKeys(setting, secrets)
}
