package webhooks

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// The length of a secret in bytes, according to Standard Webhooks.
const (
	minSecret     = 24
	maxSecret     = 64
	defaultSecret = 32
)

// ErrInvalid means that a setting or an argument breaks a rule. The text names both.
var ErrInvalid = errors.New("invalid webhook")

const secretPrefix = "whsec_"

// Secret is a key of 24 to 64 bytes that sender and receiver share. It prints and logs as a
// placeholder.
type Secret []byte

// NewSecret returns a random secret of 32 bytes.
func NewSecret() Secret {
	s := make(Secret, defaultSecret)
	_, _ = rand.Read(s) // never fails since Go 1.24

	return s
}

// ParseSecret reads a secret in the form of Standard Webhooks: "whsec_" and base64. Without that
// prefix, the bytes of the text are the secret; a text with the prefix elsewhere, such as after a space or
// a version, is refused.
func ParseSecret(text string) (Secret, error) {
	s := Secret(text)
	encoded, ok := strings.CutPrefix(text, secretPrefix)

	switch {
	case !ok && strings.Contains(strings.ToLower(text), secretPrefix):
		// Signed with such a text, messages would verify with no secret that their receiver has.
		return nil, fmt.Errorf("%w: secret: %q may stand only at its beginning, in small letters", ErrInvalid, secretPrefix)
	case ok:
		// Strict, so that each secret has only one text.
		decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
		if err != nil {
			return nil, fmt.Errorf("%w: secret: what follows %q must be base64", ErrInvalid, secretPrefix)
		}

		s = decoded
	}

	return s, s.Validate()
}

// Validate returns ErrInvalid unless the secret has 24 to 64 bytes.
func (s Secret) Validate() error {
	if len(s) < minSecret || len(s) > maxSecret {
		return fmt.Errorf("%w: secret: %d to %d bytes, got %d", ErrInvalid, minSecret, maxSecret, len(s))
	}

	return nil
}

// Reveal returns the secret in the form that [ParseSecret] reads.
func (s Secret) Reveal() string { return secretPrefix + base64.StdEncoding.EncodeToString(s) }

func (Secret) String() string { return "[secret]" }

// GoString keeps %#v from printing the bytes.
func (Secret) GoString() string { return "[secret]" }

// LogValue keeps loggers from printing the bytes.
func (Secret) LogValue() slog.Value { return slog.StringValue("[secret]") }

// MarshalText keeps encoders from writing the bytes.
func (Secret) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }
