package actions

import (
	"crypto/hmac"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PIN is a secret that a person types, beside the id. It prints and logs as a
// placeholder; the table holds a keyed hash of it, bound to the action.
type PIN string

// The length of a PIN in bytes.
const (
	MinPIN = 4
	MaxPIN = 64
)

const hiddenPIN = "[PIN]"

func (PIN) String() string { return hiddenPIN }

// GoString keeps %#v from printing the PIN.
func (PIN) GoString() string { return hiddenPIN }

// LogValue keeps loggers from printing the PIN.
func (PIN) LogValue() slog.Value { return slog.StringValue(hiddenPIN) }

// MarshalText keeps encoders from writing the PIN.
func (PIN) MarshalText() ([]byte, error) { return []byte(hiddenPIN), nil }

// validate is for a PIN that is set. One that is only tried may be anything.
func (p PIN) validate() error {
	if len(p) < MinPIN || len(p) > MaxPIN || !utf8.ValidString(string(p)) || strings.ContainsFunc(string(p), unicode.IsControl) {
		return fmt.Errorf("%w: pin: %d to %d bytes of text", ErrInvalid, MinPIN, MaxPIN)
	}
	return nil
}

// hash is what the table holds of the action's PIN.
func (k tenantKey) hash(itemKey string, p PIN) []byte { return mac(k.pin, itemKey, string(p)) }

// matches compares in constant time. The hash may be by an older key of the ring.
func (r ring) matches(rec record, itemKey string, p PIN) (bool, error) {
	key, known := r.version(rec.pinKey)
	if !known {
		return false, fmt.Errorf("%w: version %d", ErrNoKey, rec.pinKey)
	}

	return hmac.Equal(rec.pinHash, key.hash(itemKey, p)), nil
}

// tryBytes is how much of its hash names a try.
const tryBytes = 12

// tryName names one guess: this PIN, brought by this consumption or holder. The action
// keeps the names of all tries, so that a guess counts once, however often the
// network repeats it.
func (k tenantKey) tryName(itemKey, by string, p PIN) string {
	return base64.RawURLEncoding.EncodeToString(mac(k.try, itemKey, by, string(p))[:tryBytes])
}
