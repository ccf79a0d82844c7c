package keys

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxExpiry is the largest epoch second that an expiring key may contain: year 9999.
const maxExpiry = 253402300799

// Expiring returns a key that contains its own end: name-id-base36, where the last part is
// the epoch second of the end in base 36. The name must not contain a dash.
func Expiring(name, id string, end time.Time) (string, error) {
	switch {
	case name == "" || strings.Contains(name, "-"):
		return "", fmt.Errorf("%w: name: must not be empty or contain a dash", ErrInvalid)
	case id == "":
		return "", fmt.Errorf("%w: the id is empty", ErrInvalid)
	case end.Unix() <= 0 || end.Unix() > maxExpiry:
		return "", fmt.Errorf("%w: end: a time between 1970 and 9999", ErrInvalid)
	}

	key := name + "-" + id + "-" + strconv.FormatInt(end.Unix(), 36)
	if len(key) > MaxBytes {
		return "", fmt.Errorf("%w: %d bytes, at most %d", ErrInvalid, len(key), MaxBytes)
	}

	return key, nil
}

// Expiry returns the end of a key that [Expiring] made. It refuses leading zeros and
// capitals, so that each end has one spelling.
func Expiry(key string) (time.Time, error) {
	// The id may contain dashes: the name ends at the first dash, and the end follows the last.
	name, rest, _ := strings.Cut(key, "-")
	dash := strings.LastIndexByte(rest, '-')
	if name == "" || dash <= 0 {
		return time.Time{}, fmt.Errorf("%w: must read name-id-base36", ErrInvalid)
	}

	text := rest[dash+1:]
	second, err := strconv.ParseInt(text, 36, 64)
	if err != nil || second <= 0 || second > maxExpiry || strconv.FormatInt(second, 36) != text {
		return time.Time{}, fmt.Errorf("%w: its last part must be an epoch second in base 36, in small letters", ErrInvalid)
	}

	return time.Unix(second, 0).UTC(), nil
}
