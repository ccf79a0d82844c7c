package streams

import (
	"errors"
	"strconv"
	"time"
)

// sequence orders the records of a stream. The upper 44 bits are milliseconds since 1970,
// the lower 20 a counter. So a number tells when its record was written, and numbers keep
// growing, by the counter, while the system's clock is behind.
type sequence uint64

const counterBits = 20

// sequenceAt returns the smallest sequence of a millisecond.
func sequenceAt(t time.Time) sequence {
	return sequence(max(t.UnixMilli(), 0)) << counterBits
}

func (s sequence) time() time.Time { return time.UnixMilli(int64(s >> counterBits)) }

// String returns the number as callers see it: always 21 digits without a leading zero,
// so that texts and numbers have the same order.
func (s sequence) String() string { return string(s.append(nil)) }

// append appends the text of String.
func (s sequence) append(dst []byte) []byte {
	var digits [20]byte
	for at := len(digits) - 1; at >= 0; at-- {
		digits[at] = '0' + byte(s%10)
		s /= 10
	}

	return append(append(dst, '1'), digits[:]...)
}

func parseSequence(text string) (sequence, error) {
	if len(text) != 21 || text[0] != '1' {
		return 0, errors.New("not a sequence number of this engine")
	}
	n, err := strconv.ParseUint(text[1:], 10, 64)

	return sequence(n), err
}
