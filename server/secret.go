package server

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a setting that is never printed: it prints, logs and encodes as a placeholder, also as a part of a Config.
// [Secret.Reveal] returns the text.
type Secret string

// Reveal returns the text of the secret.
func (s Secret) Reveal() string { return string(s) }

// String returns "***", or "" if there is no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}

	return "***"
}

// Format keeps every verb from printing the text, also those that a string does not have.
func (s Secret) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, s.String()) }

// LogValue keeps loggers from printing the text.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps encoders from writing the text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
