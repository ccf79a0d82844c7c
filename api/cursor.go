package api

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"
)

// sealer makes cursors: where a list goes on, encrypted, because the place may be
// another tenant's, and bound to caller and question, so that one is of no use for
// another.
type sealer struct{ aead cipher.AEAD }

func newSealer(secret []byte) (sealer, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCM(block)

	return sealer{aead}, err
}

// seal returns the cursor of a place; none for the end.
func (s sealer) seal(place string, bound ...string) string {
	if place == "" {
		return ""
	}
	nonce := make([]byte, s.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails since Go 1.24

	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, []byte(place), binding(bound)))
}

// open returns the place; the beginning for no cursor.
func (s sealer) open(cursor string, bound ...string) (string, *problem) {
	if cursor == "" {
		return "", nil
	}

	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if n := s.aead.NonceSize(); err == nil && len(sealed) > n {
		if place, err := s.aead.Open(nil, sealed[:n], sealed[n:], binding(bound)); err == nil {
			return string(place), nil
		}
	}

	return "", newProblem(http.StatusBadRequest, "invalid_cursor", "The cursor is not one of this list. Begin without one.").field("query", "cursor", "must come from the page before")
}

// binding joins what no part contains.
func binding(parts []string) []byte { return []byte(strings.Join(parts, "\x00")) }
