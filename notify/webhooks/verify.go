package webhooks

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The reasons why a message is refused. A server should answer all of them alike, so that
// an attacker does not learn the reason.
var (
	// ErrMalformed means that a header is missing, repeated, too long or malformed.
	ErrMalformed = errors.New("the webhook's headers are malformed")
	// ErrSignature means that no signature of the message was made with one of the secrets
	// over this id, time and body.
	ErrSignature = errors.New("the webhook's signature does not match")
	// ErrTimestamp means that the signature matches, but the timestamp is more than
	// Config.Tolerance from now: the message was sent again by an attacker, or a clock is wrong.
	ErrTimestamp = errors.New("the webhook's timestamp is too far from now")
	// ErrTooLarge means that the body is longer than the limit of Read.
	ErrTooLarge = errors.New("the webhook's body is too large")
)

// Message is a verified message.
type Message struct {
	// ID names the message. It is the same for every delivery.
	ID string
	// SentAt is the time of this delivery.
	SentAt time.Time
	Body   []byte
}

// Verify checks the headers against the raw bytes of the body. It returns ErrMalformed,
// ErrSignature or ErrTimestamp.
func (k *Keys) Verify(h http.Header, body []byte) (Message, error) {
	now := k.now()

	id, sent, given, err := headers(h)
	if err != nil {
		return Message{}, err
	}

	seconds, err := strconv.ParseInt(sent, 10, 64)
	// Only the form that Sign writes: "+1" and "01" are refused, because they are other texts for
	// the same time.
	if err != nil || strconv.FormatInt(seconds, 10) != sent || seconds < 0 || len(sent) > 11 {
		return Message{}, fmt.Errorf("%w: %s must be whole seconds since 1970", ErrMalformed, HeaderTimestamp)
	}

	matched := false
	for _, secret := range k.cfg.Secrets {
		want := secret.mac(id, sent, body)
		for _, signature := range given {
			if hmac.Equal(signature, want) {
				matched = true // no break: the time must not depend on the secret
			}
		}
	}

	sentAt := time.Unix(seconds, 0)
	switch {
	case !matched:
		return Message{}, ErrSignature
	// After the signature, so that only a sender with a secret learns about the clock.
	case now.Sub(sentAt).Abs() > k.cfg.Tolerance:
		return Message{}, fmt.Errorf("%w: sent %s, tolerated are %s", ErrTimestamp, sentAt.UTC().Format(time.RFC3339), k.cfg.Tolerance)
	}

	return Message{ID: id, SentAt: sentAt, Body: body}, nil
}

// Read reads the request's body, at most limit bytes, and verifies it.
func (k *Keys) Read(r *http.Request, limit int64) (Message, error) {
	// One byte more than allowed shows that the body is too large.
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case err != nil:
		return Message{}, fmt.Errorf("read the webhook: %w", err)
	case int64(len(body)) > limit:
		return Message{}, fmt.Errorf("%w: at most %d bytes", ErrTooLarge, limit)
	}

	return k.Verify(r.Header, body)
}

// headers returns the content of the three headers. It ignores signatures of other
// versions.
func headers(h http.Header) (id, sent string, signatures [][]byte, err error) {
	var values [3]string
	size := 0
	for i, name := range []string{HeaderID, HeaderTimestamp, HeaderSignature} {
		all := h.Values(name)
		if len(all) != 1 {
			return "", "", nil, fmt.Errorf("%w: %s: exactly one, got %d", ErrMalformed, name, len(all))
		}

		values[i] = all[0]
		size += len(all[0])
	}

	if size > maxHeader {
		return "", "", nil, fmt.Errorf("%w: at most %d bytes", ErrMalformed, maxHeader)
	}

	if !idRule().MatchString(values[0]) {
		return "", "", nil, fmt.Errorf("%w: %s: 1 to 128 characters of A-Z a-z 0-9 _ : -", ErrMalformed, HeaderID)
	}

	// Before any signature is decoded, so that the work for a message is bounded.
	if strings.Count(values[2], " ") >= MaxSignatures {
		return "", "", nil, fmt.Errorf("%w: %s: at most %d signatures", ErrMalformed, HeaderSignature, MaxSignatures)
	}

	for part := range strings.SplitSeq(values[2], " ") {
		encoded, ours := strings.CutPrefix(part, version)
		if !ours {
			continue
		}

		signature, err := base64.StdEncoding.Strict().DecodeString(encoded)
		if err != nil {
			return "", "", nil, fmt.Errorf("%w: %s: not base64", ErrMalformed, HeaderSignature)
		}

		signatures = append(signatures, signature)
	}

	return values[0], values[1], signatures, nil
}
