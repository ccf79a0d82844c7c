package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"regexp"
	"strings"
)

// Token is an API key as its owner has it: "rk_", the public id of 16 characters, "_", and
// 256 random bits in base64url. It prints as its public part; string(token) is the secret.
type Token string

var tokenRule = regexp.MustCompile(`^rk_([a-z2-7]{16})_([A-Za-z0-9_-]{43})$`)

// split returns the public id and the hash of the secret part. It reports false if the
// token is malformed.
func (t Token) split() (id string, hash [sha256.Size]byte, ok bool) {
	parts := tokenRule.FindStringSubmatch(string(t))
	if parts == nil {
		return "", hash, false
	}

	return parts[1], sha256.Sum256([]byte(parts[2])), true
}

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
