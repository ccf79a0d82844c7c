package api

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"ratchet/transitions"
)

// secretBytes is the length of Config.Secret, which makes the cipher AES-256.
const secretBytes = 32

// sealer encrypts positions in lists as cursors, and decrypts them. A position may be a
// stored id of another tenant, so callers must not read it. A cursor is bound to the
// caller's tenant and to the list, so that it cannot be used with another one.
type sealer struct{ aead cipher.AEAD }

// cursorFormat is the first byte of a cursor: the number of the form of all positions. Raise it only if a
// server that knows the number before would misread one.
const cursorFormat = 1

// errUnsealed says that the bytes are too short to be sealed.
var errUnsealed = errors.New("too short")

func newSealer(secret []byte) (sealer, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return sealer{}, err
	}

	aead, err := cipher.NewGCM(block)

	return sealer{aead}, err
}

// seal returns the cursor of a position, "" for the end of the list.
func (s sealer) seal(position string, binding ...string) string {
	if position == "" {
		return ""
	}

	return base64.RawURLEncoding.EncodeToString(append([]byte{cursorFormat}, s.sealBytes([]byte(position), binding...)...))
}

// open returns the position of a cursor, "" for the beginning of the list. It returns a
// problem if the cursor was not sealed with the same binding.
func (s sealer) open(cursor string, binding ...string) (string, *problem) {
	if cursor == "" {
		return "", nil
	}

	detail := "The cursor does not belong to this list. Start without one."

	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err == nil && len(sealed) > 0 {
		if sealed[0] != cursorFormat {
			detail = fmt.Sprintf("The cursor has format %d, and this server reads format %d. Start without one.", sealed[0], cursorFormat)
		} else if position, err := s.openBytes(sealed[1:], binding...); err == nil {
			return string(position), nil
		}
	}

	// The same answer for a damaged cursor and for a cursor of another tenant.
	p := newProblem(http.StatusBadRequest, "invalid_cursor", detail)

	return "", p.withField("query", "cursor", "must come from the previous page")
}

// sealBytes encrypts the bytes, bound to the binding.
func (s sealer) sealBytes(plain []byte, binding ...string) []byte {
	nonce := make([]byte, s.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails since Go 1.24

	return s.aead.Seal(nonce, nonce, plain, additionalData(binding))
}

// openBytes is the inverse of sealBytes with the same binding.
func (s sealer) openBytes(sealed []byte, binding ...string) ([]byte, error) {
	n := s.aead.NonceSize()
	if len(sealed) <= n {
		return nil, errUnsealed
	}

	return s.aead.Open(nil, sealed[:n], sealed[n:], additionalData(binding))
}

// additionalData joins the parts with a character that none of them contains.
func additionalData(parts []string) []byte { return []byte(strings.Join(parts, "\x00")) }

func formatTransitionID(id transitions.TransitionID) string { return strconv.FormatInt(int64(id), 10) }

// parseTransitionID is the inverse of formatTransitionID; "" is 0. It ignores other errors:
// a cursor is sealed, and the schema checks the header that holds an id.
func parseTransitionID(text string) transitions.TransitionID {
	n, _ := strconv.ParseInt(text, 10, 64)
	return transitions.TransitionID(n)
}
