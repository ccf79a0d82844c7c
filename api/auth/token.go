package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"strings"
)

// Token is an API key as its owner has it: "rk_", the public id of 16 characters, "_", and
// 256 random bits in base64url. It prints as its public part; string(token) is the secret.
type Token string

const (
	tokenPrefix = "rk_"
	idLength    = 16
	tokenLength = len(tokenPrefix) + idLength + 1 + 43
)

// IsToken reports whether the text begins like a key, even if it is not a complete key. The id of a
// key does not begin like that.
func IsToken(text string) bool { return strings.HasPrefix(text, tokenPrefix) }

// split returns the public id and the hash of the secret part. It reports false if the
// token is malformed. Every request needs it, so it has no regular expression.
func (t Token) split() (id string, hash [sha256.Size]byte, ok bool) {
	rest, prefixed := strings.CutPrefix(string(t), tokenPrefix)
	if !prefixed || len(t) != tokenLength || rest[idLength] != '_' {
		return "", hash, false
	}
	id, secret := rest[:idLength], rest[idLength+1:]

	// Base32 in lower case, as newKeyID makes it.
	for _, c := range []byte(id) {
		if !isLower(c) && (c < '2' || c > '7') {
			return "", hash, false
		}
	}

	for _, c := range []byte(secret) {
		if !isLower(c) && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return "", hash, false
		}
	}

	return id, sha256.Sum256([]byte(secret)), true
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

// String returns the public part.
func (t Token) String() string {
	id, _, ok := t.split()
	if !ok {
		return "[malformed api key]"
	}

	return "rk_" + id + "_..."
}

// GoString returns the public part.
func (t Token) GoString() string { return t.String() }

// LogValue returns the public part.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// newToken makes a token from 80 random bits for its id and 256 for its secret.
func newToken() Token {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails since Go 1.24

	return Token("rk_" + newKeyID() + "_" + base64.RawURLEncoding.EncodeToString(secret[:]))
}

func newKeyID() string { return strings.ToLower(rand.Text()[:16]) }
