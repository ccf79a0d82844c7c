package once

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"ratchet/once/keys"
)

// attempt is the identity of one call. It is computed once, before anything is sent.
type attempt struct {
	key, owner, operation string
	payload, fingerprint  []byte
	lease                 time.Duration
	keyEnd                time.Time // zero for keys that do not expire
	// invalid says what this configuration refuses of the call, nil for nothing. The record may have been
	// made under another configuration, so it is asked first.
	invalid error
	// named is set if the owner names a request, which may come again.
	named bool
	// tookOver is set if a former holder may have begun the work, and isNew if there was no record.
	tookOver, isNew bool
	// sent is the time just before the last write was sent, by the monotonic clock. local is the same
	// moment by the machine's clock.
	sent, local time.Time
}

func (c *Claims) newAttempt(ctx context.Context, key string, payload []byte, lease time.Duration) (*attempt, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}

	end, invalid := c.keyEnd(key)
	if !end.IsZero() {
		// A key that has ended is refused without another call.
		if err := c.learn(ctx); err != nil {
			return nil, err
		}
	}

	scheme := exactBytes
	if c.cfg.PayloadJSON {
		scheme = jsonValue
	}

	a := &attempt{key: key, owner: rand.Text(), operation: c.cfg.Operation, payload: payload, lease: lease, keyEnd: end, invalid: invalid}

	var err error
	if a.fingerprint, err = fingerprint(scheme, c.cfg.Operation, payload); err != nil {
		a.invalid = cmp.Or(a.invalid, err)
		a.fingerprint, err = fingerprint(exactBytes, c.cfg.Operation, payload)
	}

	return a, err
}

// nameOwner makes the owner a digest of the request's name, so that records and tickets do
// not reveal the name.
func (a *attempt) nameOwner(request string) {
	sum := sha256.Sum256([]byte(request))
	a.owner = base32.StdEncoding.EncodeToString(sum[:])[:len(a.owner)]
	a.named = true
}

// keyEnded reports whether the key carries an end that has passed.
func (a *attempt) keyEnded(now time.Time) bool {
	return !a.keyEnd.IsZero() && !now.Before(a.keyEnd)
}

// keyEnd checks a key and returns the end that it carries, zero for none.
func (c *Claims) keyEnd(key string) (end time.Time, err error) {
	if err = checkKey(key); err == nil && c.cfg.KeysExpire {
		if end, err = keys.Expiry(key); err != nil {
			err = fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}

	return end, err
}

func checkKey(key string) error {
	if key == "" || len(key) > keys.MaxBytes || !utf8.ValidString(key) {
		return fmt.Errorf("%w: key: 1 to %d bytes of UTF-8, got %d", ErrInvalid, keys.MaxBytes, len(key))
	}

	// Locks, chunks of results, counts and the probe of Check share the table with claims.
	for _, prefix := range []string{lockPrefix, chunkPrefix, probePrefix, countPrefix} {
		if strings.HasPrefix(key, prefix) {
			return fmt.Errorf("%w: key: must not begin with %s", ErrInvalid, prefix)
		}
	}

	return nil
}
