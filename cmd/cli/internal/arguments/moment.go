package arguments

import (
	"time"

	"ratchet/cmd/cli/internal/exit"
)

// Moment parses a time: RFC 3339, or a duration from now. Empty is the zero time.
func Moment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}

	if d, err := time.ParseDuration(text); err == nil {
		return time.Now().Add(d), nil
	}

	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, exit.UsageError("%s %q: a time like 2026-12-24T18:00:00Z, or a duration from now like 24h", flag, text)
	}

	return at, nil
}

// Fixed parses a time in RFC 3339, which is the same when the command is repeated. Empty is
// the zero time.
func Fixed(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}

	// No durations here: they would give another time with every repeat.
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, exit.UsageError("%s %q: a time like 2026-12-24T18:00:00Z", flag, text)
	}

	return at, nil
}
