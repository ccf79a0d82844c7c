package actions

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"sync"
	"time"
)

// Spec describes a new action. ExpiresAt must be set.
type Spec struct {
	// RequestID names the creation: 1 to 255 printable ASCII characters. As long as the
	// action is remembered, a repeat with the same RequestID finds it instead of making a
	// second one. The repeat must give equal times, not times that count from now.
	RequestID string
	// Code is chosen by the caller in place of an id that Create makes: 3 to 64 letters,
	// digits and hyphens, in any case. A chosen code is easy to guess. Its item is never
	// deleted, because a used code is never free again.
	Code string
	// Payload is any JSON value of up to 32 KiB. The caller that consumes the action gets it.
	// Every write of the action is billed by the whole size of the item.
	Payload json.RawMessage
	// PIN must be given to consume the action. Empty: none. A repeat must have a PIN, too,
	// but it is not compared: the first one stays.
	PIN PIN
	// MaxAttempts is how many different tries of the PIN are compared, 1 to 10. Default 3.
	MaxAttempts int
	// ActiveAt is the moment from which the action may be used. Zero: at once.
	ActiveAt time.Time
	// ExpiresAt is the moment from which the action can no longer be used: at most 5 years
	// from now.
	ExpiresAt time.Time
}

const (
	// maxPayload is the size of the largest payload, in bytes.
	maxPayload = 32 << 10

	defaultAttempts = 3
	maxAttempts     = 10
)

var textRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[ -~]{1,255}$`) })

func (s *Spec) validate() error {
	switch {
	case s.RequestID != "" && !textRule().MatchString(s.RequestID):
		return invalid("requestId: 1 to 255 printable ASCII characters")
	case s.RequestID != "" && s.Code != "":
		return invalid("requestId and code: one of them names the creation")
	case len(s.Payload) > maxPayload || (len(s.Payload) > 0 && !json.Valid(s.Payload)):
		return invalid(fmt.Sprintf("payload: a JSON value of at most %d bytes", maxPayload))
	case s.PIN == "" && s.MaxAttempts != 0:
		return invalid("maxAttempts: only with a pin")
	case s.MaxAttempts < 0 || s.MaxAttempts > maxAttempts:
		return invalid(fmt.Sprintf("maxAttempts %d: 1 to %d", s.MaxAttempts, maxAttempts))
	case s.ExpiresAt.IsZero():
		return invalid("expiresAt: must be set")
	case !s.ActiveAt.Before(s.ExpiresAt):
		return invalid(fmt.Sprintf("activeAt %s: must be before expiresAt", s.ActiveAt.UTC().Format(time.RFC3339)))
	case s.PIN != "":
		return s.PIN.validate()
	}

	return nil
}

// checkEnd checks the expiry of a new action. A repeat may come after it.
func (s *Spec) checkEnd(now time.Time) error {
	switch {
	case !s.ExpiresAt.After(now):
		return invalid(fmt.Sprintf("expiresAt %s: must be in the future", s.ExpiresAt.UTC().Format(time.RFC3339)))
	case s.ExpiresAt.Sub(now) > maxLifetime:
		return invalid(fmt.Sprintf("expiresAt %s: at most 5 years from now", s.ExpiresAt.UTC().Format(time.RFC3339)))
	}

	return nil
}

// normal returns the spec as it is stored: with times in milliseconds and defaults.
func (s Spec) normal() Spec {
	s.ExpiresAt = s.ExpiresAt.Truncate(time.Millisecond)
	s.ActiveAt = s.ActiveAt.Truncate(time.Millisecond)
	if s.PIN != "" && s.MaxAttempts == 0 {
		s.MaxAttempts = defaultAttempts
	}

	return s
}

// content is a digest of everything that must be equal between two creations of an action. Of
// the PIN it covers only whether there is one. Otherwise a conflict would tell whether a guess
// is right, without counting a try.
func (s Spec) content() []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s|%d|%d|%d|%t", len(s.Payload), s.Payload, s.MaxAttempts,
		s.ActiveAt.UnixMilli(), s.ExpiresAt.UnixMilli(), s.PIN != ""))

	return sum[:]
}
