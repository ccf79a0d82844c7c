package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxBytes is the length of the longest key in bytes, which is DynamoDB's limit for a
// partition key.
const MaxBytes = 2048

// ErrInvalid means that a key, or a part of one, breaks a rule. The text names both.
var ErrInvalid = errors.New("invalid key")

// Of joins tenant, operation and parts to a key. Each follows its length:
// "4:acme9:refund/v13:o-1". Tenant and operation must not be empty, and at least one part
// must not be empty. A text longer than [MaxBytes] is replaced by "sha256:" and its
// digest.
func Of(tenant, operation string, parts ...string) (string, error) {
	switch {
	case tenant == "":
		return "", fmt.Errorf("%w: the tenant is empty", ErrInvalid)
	case operation == "":
		return "", fmt.Errorf("%w: the operation is empty", ErrInvalid)
	case strings.Join(parts, "") == "":
		return "", fmt.Errorf("%w: all parts are empty: every call without them would share one record", ErrInvalid)
	}

	var b strings.Builder
	for _, part := range append([]string{tenant, operation}, parts...) {
		if !utf8.ValidString(part) {
			return "", fmt.Errorf("%w: a part is not valid UTF-8", ErrInvalid)
		}
		b.WriteString(strconv.Itoa(len(part)))
		b.WriteByte(':')
		b.WriteString(part)
	}

	// The hash cannot equal another key: all others begin with a length.
	if b.Len() <= MaxBytes {
		return b.String(), nil
	}
	digest := sha256.Sum256([]byte(b.String()))

	return "sha256:" + hex.EncodeToString(digest[:]), nil
}

// Message returns the key of a message by its place in a log such as Kafka:
// topic-partition-offset. A topic may contain dashes, because the last two parts are
// numbers.
func Message(topic string, partition int32, offset int64) (string, error) {
	switch {
	// 32 bytes are enough for the two dashes and numbers.
	case topic == "" || len(topic) > MaxBytes-32:
		return "", fmt.Errorf("%w: topic: 1 to %d bytes, got %d", ErrInvalid, MaxBytes-32, len(topic))
	case partition < 0 || offset < 0:
		return "", fmt.Errorf("%w: partition and offset must not be negative", ErrInvalid)
	}

	return fmt.Sprintf("%s-%d-%d", topic, partition, offset), nil
}
