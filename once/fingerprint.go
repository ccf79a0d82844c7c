package once

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// scheme says when two payloads are the same. Its number is stored with each fingerprint.
// So callers that have switched to another scheme still recognize earlier payloads. A
// scheme that they do not know counts as another payload.
type scheme byte

const (
	exactBytes scheme = 1
	jsonValue  scheme = 2
)

// fingerprint returns the scheme's number and the digest of operation and payload. The
// digest covers the operation, so that a key that another operation used is a mismatch.
func fingerprint(s scheme, operation string, payload []byte) ([]byte, error) {
	switch s {
	case exactBytes:
	case jsonValue:
		text, err := Canonical(payload)
		if err != nil {
			return nil, err
		}
		payload = text
	default:
		return nil, fmt.Errorf("%w: payload: scheme %d is unknown", ErrInvalid, s)
	}

	h := sha256.New()
	h.Write(binary.AppendUvarint(nil, uint64(len(operation))))
	io.WriteString(h, operation) //nolint:errcheck // a hash never fails
	h.Write(payload)

	return h.Sum([]byte{byte(s)}), nil
}

// matches compares a stored fingerprint with the attempt's payload, under the scheme of the
// stored one.
func (a *attempt) matches(stored []byte) bool {
	if len(stored) == 0 {
		return false
	}

	own := a.fingerprint
	if stored[0] != own[0] {
		var err error
		// The record was stored under the other setting of Config.PayloadJSON.
		if own, err = fingerprint(scheme(stored[0]), a.operation, a.payload); err != nil {
			return false
		}
	}

	return subtle.ConstantTimeCompare(stored, own) == 1
}

// maxExact is the largest number below which a double can represent every whole number.
const maxExact = 1<<53 - 1

// Canonical returns a JSON value in the form of RFC 8785: members sorted, no spaces,
// numbers as doubles. It returns ErrInvalid where different values would become equal:
// duplicate names, invalid UTF-8, lone surrogates, and numbers beyond 2^53-1, which must be
// written as strings.
func Canonical(text []byte) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			return nil, fmt.Errorf("%w: payload: not JSON: at byte %d", ErrInvalid, d.InputOffset()) // without the cause, which may quote the payload
		}

		// jsontext has this kind for every number.
		if token.Kind() == '0' {
			if n, err := strconv.ParseFloat(token.String(), 64); err != nil || math.Abs(n) > maxExact {
				return nil, fmt.Errorf("%w: payload: number at byte %d: beyond 2^53-1, write it as a string", ErrInvalid, d.InputOffset())
			}
		}
	}

	value := jsontext.Value(bytes.Clone(text))
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("%w: payload: not one JSON value", ErrInvalid)
	}

	return value, nil
}
