package tasktoken

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
)

// Token is a task token. It prints and logs as a digest. The conversion string(token) gives the secret
// itself.
type Token string

// String returns a short digest, enough to tell two tokens apart in a log.
func (t Token) String() string {
	sum := sha256.Sum256([]byte(t))
	return hex.EncodeToString(sum[:4])
}

// GoString keeps %#v from printing the token.
func (t Token) GoString() string { return t.String() }

// LogValue keeps loggers from printing the token.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }
