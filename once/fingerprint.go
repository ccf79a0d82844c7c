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

// Scheme says when two payloads are the same. Its number is stored with each
// fingerprint: callers that have switched to another scheme still recognise the
// payloads of before, and a scheme that they do not know counts as another payload.
type Scheme byte

const (
	// Exact: the same bytes.
	Exact Scheme = 1
	// JSON: the same JSON value, as [Canonical] writes it.
	JSON Scheme = 2
)

// fingerprint is a scheme's number and the digest of operation and payload: a key
// that another operation used is a mismatch, never somebody else's result.
func fingerprint(s Scheme, operation string, payload []byte) ([]byte, error) {
	switch s {
	case Exact:
	case JSON:
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

// matches compares a stored fingerprint with the payload under the scheme that was
// used then.
func (a *attempt) matches(stored []byte) bool {
	if len(stored) == 0 {
		return false
	}

	print := a.print
	if stored[0] != print[0] {
		var err error
		if print, err = fingerprint(Scheme(stored[0]), a.operation, a.payload); err != nil {
			return false
		}
	}

	return subtle.ConstantTimeCompare(stored, print) == 1
}

// maxExact is the largest whole number up to which a double tells all apart.
const maxExact = 1<<53 - 1

// Canonical writes a JSON value in the one form of RFC 8785: members sorted, no
// spaces, numbers as doubles. Refused is what would make different values equal:
// duplicate names, invalid UTF-8, lone surrogates, and numbers beyond 2^53-1, which
// belong into strings.
func Canonical(text []byte) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			return nil, fmt.Errorf("%w: payload: not JSON: at byte %d", ErrInvalid, d.InputOffset()) // the cause may quote the payload
		}

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
