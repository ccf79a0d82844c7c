package keys

import (
	"strconv"
	"strings"
	"time"
)

// PreferredWait returns the time that the caller of an HTTP request is willing to wait for its answer: the
// preference wait of the field Prefer, in seconds (RFC 7240), as in "respond-async, wait=10". Of several, the first
// counts. It returns false if there is none that is a whole number from 0.
func PreferredWait(fields []string) (time.Duration, bool) {
	for _, field := range fields {
		for preference := range strings.SplitSeq(field, ",") {
			// Parameters of the preference come after a semicolon.
			preference, _, _ = strings.Cut(preference, ";")

			name, value, _ := strings.Cut(preference, "=")
			if !strings.EqualFold(strings.TrimSpace(name), "wait") {
				continue
			}

			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)

			return time.Duration(seconds) * time.Second, err == nil
		}
	}

	return 0, false
}
