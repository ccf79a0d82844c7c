package notify

import (
	"strings"
	"unicode"
)

// maxStored bounds the stored bytes of an answer or error.
const maxStored = 1 << 10

const redacted = "[redacted]"

// redact returns the beginning of a text without the secrets of the endpoint. Characters that are not
// printable become spaces.
func redact(e Endpoint, text string) string {
	for _, secret := range e.Secrets {
		// In every form in which an answer may contain the secret: with the prefix, as base64, as
		// bytes.
		for _, form := range []string{secret.Key.Reveal(), strings.TrimPrefix(secret.Key.Reveal(), "whsec_"), string(secret.Key)} {
			text = strings.ReplaceAll(text, form, redacted)
		}
	}

	for _, value := range e.Headers {
		// The words of a value, too: an answer may contain only the token of "Bearer TOKEN".
		for _, part := range append(strings.Fields(value), value) {
			if len(part) >= 8 { // shorter ones are words, and no secrets
				text = strings.ReplaceAll(text, part, redacted)
			}
		}
	}

	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))

	return strings.ToValidUTF8(text[:min(len(text), maxStored)], "") // without half a character
}

// redactedError is an error whose text was redacted.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }

func (e *redactedError) Unwrap() error { return e.err }

func redactError(e Endpoint, err error) error {
	if err == nil {
		return nil
	}

	text := redact(e, err.Error())
	if text == "" {
		text = "failed"
	}

	return &redactedError{text, err}
}
