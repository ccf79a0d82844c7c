package arguments

import (
	"strconv"
	"strings"
	"time"

	"ratchet/cmd/cli/internal/exit"
)

// PointInTime reads a time, or a duration before now, which may be in days. An empty text is the
// zero time.
func PointInTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}

	// Go has no unit for days, and retentions are counted in them.
	if days, is := strings.CutSuffix(text, "d"); is {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Now().Add(-time.Duration(n) * 24 * time.Hour), nil
		}
	}

	// A negative duration would be a time in the future.
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return time.Now().Add(-ago), nil
	}

	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, exit.UsageError("%s %q: a time like 2026-11-22T08:00:00Z, or a duration like 2h or 30d", flag, text)
	}

	return at, nil
}
