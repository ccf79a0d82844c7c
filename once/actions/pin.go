package actions

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ratchet/internal/dynamo"
)

// PIN is a secret that a person types in addition to the id: 4 to 64 bytes of text. It
// prints and logs as a placeholder. The table holds a keyed hash of it, bound to the
// action.
type PIN string

// The length of a PIN in bytes.
const (
	minPIN = 4
	maxPIN = 64
)

const hiddenPIN = "[PIN]"

func (PIN) String() string { return hiddenPIN }

// GoString keeps %#v from printing the PIN.
func (PIN) GoString() string { return hiddenPIN }

// LogValue keeps loggers from printing the PIN.
func (PIN) LogValue() slog.Value { return slog.StringValue(hiddenPIN) }

// MarshalText keeps encoders from writing the PIN.
func (PIN) MarshalText() ([]byte, error) { return []byte(hiddenPIN), nil }

// validate checks the PIN of a new action. A PIN that is only tried may be anything.
func (p PIN) validate() error {
	if len(p) < minPIN || len(p) > maxPIN || !utf8.ValidString(string(p)) || strings.ContainsFunc(string(p), unicode.IsControl) {
		return fmt.Errorf("%w: pin: %d to %d bytes of text", ErrInvalid, minPIN, maxPIN)
	}

	return nil
}

// tryPIN counts a try and then compares the PIN. The count must come first: a failed
// condition cannot count itself, and many callers could repeat a comparison that comes
// before the count. tryPIN returns true if the try decides the request.
func (a *Actions) tryPIN(ctx context.Context, c *call) (Result, bool, error) {
	if c.PIN == "" {
		return Result{}, false, nil // if the action has a PIN, the update is refused
	}

	names := a.keys.tryNames(c.itemKey, c.triedBy(), c.PIN)

	rec, counted, err := a.countTry(ctx, c, names[0], names[1:])
	if rec != nil {
		// A try that was counted before the signing key changed keeps its name.
		if i := slices.IndexFunc(names[1:], func(name string) bool { return slices.Contains(rec.tries, name) }); i >= 0 {
			rec, counted, err = a.countTry(ctx, c, names[1+i], nil)
		}
	}

	switch {
	case err != nil:
		return Result{}, false, err
	case !counted && rec != nil && rec.pinHash == nil && c.rejection(*rec, a.cfg).Outcome == "":
		return Result{}, false, nil // the action has no PIN, so the given one does not matter
	case !counted:
		result, err := a.refusal(ctx, c, rec, nil)
		return result, true, err
	}

	// The try was counted, now or by an earlier sending, so it may be compared.
	c.tried = true
	if c.passed, err = a.keys.matches(*rec, c.itemKey, c.PIN); err != nil {
		return Result{}, false, err
	}

	c.pinHash = rec.pinHash
	if c.passed && rec.status == open {
		return Result{}, false, nil
	}

	// The PIN is wrong, or the action has been used. The image answers, without another write.
	return c.visibleRejection(*rec, a.cfg), true, nil
}

// countTry counts a try under a name, once for each name. It counts nothing if one of the
// other names has been counted.
func (a *Actions) countTry(ctx context.Context, c *call, name string, others []string) (*record, bool, error) {
	return a.send(ctx, c, func(update *dynamo.Update) {
		update.Add("tries :tries").Bind(":tries", dynamo.SS(name))
		c.requireTryable(update, a.cfg, name)

		for i, other := range others {
			value := ":other" + strconv.Itoa(i)
			update.If("NOT contains(tries, "+value+")").Bind(value, dynamo.S(other))
		}
	})
}

// triedBy names the caller of a try. A try is counted once per caller, so a holder that
// consumes the action brings the try that its reservation has counted.
func (c *call) triedBy() string {
	if c.Holder != "" {
		return "holder:" + c.Holder
	}

	return "consume:" + c.ConsumeID
}

// hash returns the keyed hash of the action's PIN, which the table holds.
func (k tenantKey) hash(itemKey string, p PIN) []byte { return mac(k.pin, itemKey, string(p)) }

// matches compares in constant time. The hash may have been made with an older key of the
// ring.
func (r keyRing) matches(rec record, itemKey string, p PIN) (bool, error) {
	key, known := r.version(rec.pinKey)
	if !known {
		return false, fmt.Errorf("%w: version %d", ErrNoKey, rec.pinKey)
	}

	return hmac.Equal(rec.pinHash, key.hash(itemKey, p)), nil
}

// hasPIN reports whether the request has brought the PIN of the action, if it has one. A
// try that passed counts only for the hash that it was compared with.
func (c *call) hasPIN(rec record) bool {
	return rec.pinHash == nil || c.passed && hmac.Equal(rec.pinHash, c.pinHash)
}

// tryNames returns the names of one try under all keys of the ring, the name under the signing
// key first. The ring must not be empty.
func (r keyRing) tryNames(itemKey, by string, p PIN) []string {
	names := make([]string, len(r))
	for i, key := range r {
		names[i] = key.tryName(itemKey, by, p)
	}

	return names
}

// tryBytes is how many bytes of the hash name a try.
const tryBytes = 12

// tryName names one try: this PIN, brought by this caller. The action keeps the names of
// all tries, so that a try counts once, however often the network repeats it.
func (k tenantKey) tryName(itemKey, by string, p PIN) string {
	return base64.RawURLEncoding.EncodeToString(mac(k.try, itemKey, by, string(p))[:tryBytes])
}
