package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"regexp"
	"strings"
)

// Token is an API key as its owner has it: rk_, the public id, _, 256 bits. It prints
// as its public part; string(token) is the secret itself.
type Token string

var tokenRule = regexp.MustCompile(`^rk_([a-z2-7]{16})_([A-Za-z0-9_-]{43})$`)

// split returns the public id and the hash of the secret part.
func (t Token) split() (id string, hash [sha256.Size]byte, ok bool) {
	parts := tokenRule.FindStringSubmatch(string(t))
	if parts == nil {
		return "", hash, false
	}

	return parts[1], sha256.Sum256([]byte(parts[2])), true
}

// String is the public part.
func (t Token) String() string {
	id, _, ok := t.split()
	if !ok {
		return "[no api key]"
	}

	return "rk_" + id + "_..."
}

// GoString is String.
func (t Token) GoString() string { return t.String() }

// LogValue is String.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// newToken makes a key: 80 random bits name it, 256 are the secret.
func newToken() Token {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails since Go 1.24
	return Token("rk_" + newKeyID() + "_" + base64.RawURLEncoding.EncodeToString(secret[:]))
}

func newKeyID() string { return strings.ToLower(rand.Text()[:16]) }
