package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The headers of a message.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

const (
	// MaxSignatures bounds the signatures of a message, and so the secrets of Keys.
	MaxSignatures = 10
	// DefaultTolerance is how far a message's timestamp may be from now.
	DefaultTolerance = 5 * time.Minute

	maxHeader = 4 << 10
	version   = "v1,"
)

// A dot would make the signed text ambiguous.
var idRule = regexp.MustCompile(`^[A-Za-z0-9_:-]{1,128}$`)

// Config says with what messages are signed and verified. Secrets must be set.
type Config struct {
	// Secrets are 1 to [MaxSignatures]. A message is signed with every one and accepted
	// with any. To change a secret, add the new one on both sides, then drop the old one.
	Secrets []Secret
	// Tolerance is how far a message's timestamp may be from now, either way. Default
	// [DefaultTolerance].
	Tolerance time.Duration
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Keys signs and verifies messages. Its methods may be called from many goroutines.
type Keys struct{ cfg Config }

// New checks cfg and returns the keys.
func New(cfg Config) (*Keys, error) {
	if len(cfg.Secrets) == 0 || len(cfg.Secrets) > MaxSignatures {
		return nil, fmt.Errorf("%w: Config.Secrets: 1 to %d, got %d", ErrInvalid, MaxSignatures, len(cfg.Secrets))
	}

	if cfg.Tolerance < 0 {
		return nil, fmt.Errorf("%w: Config.Tolerance %s: must not be negative", ErrInvalid, cfg.Tolerance)
	}

	cfg.Secrets = slices.Clone(cfg.Secrets)
	for i, s := range cfg.Secrets {
		if err := s.validate(); err != nil {
			return nil, fmt.Errorf("Config.Secrets[%d]: %w", i, err)
		}
		cfg.Secrets[i] = slices.Clone(s)
	}

	if cfg.Tolerance == 0 {
		cfg.Tolerance = DefaultTolerance
	}

	if cfg.Now == nil {
		cfg.Now = time.Now
	}

	return &Keys{cfg: cfg}, nil
}

// Sign returns the headers of a message sent now. The id stays the same when the
// message is sent again: 1 to 128 of A-Z a-z 0-9 _ : - . The headers do not.
func (k *Keys) Sign(id string, body []byte) (http.Header, error) {
	if !idRule.MatchString(id) {
		return nil, fmt.Errorf("%w: id: 1 to 128 characters of A-Z a-z 0-9 _ : -", ErrInvalid)
	}

	sent := strconv.FormatInt(k.cfg.Now().Unix(), 10)
	signatures := make([]string, len(k.cfg.Secrets))
	for i, secret := range k.cfg.Secrets {
		signatures[i] = version + base64.StdEncoding.EncodeToString(secret.mac(id, sent, body))
	}

	return http.Header{
		HeaderID: {id}, HeaderTimestamp: {sent}, HeaderSignature: {strings.Join(signatures, " ")},
	}, nil
}

// mac is the signature of a message under the secret.
func (s Secret) mac(id, sent string, body []byte) []byte {
	mac := hmac.New(sha256.New, s)
	_, _ = mac.Write([]byte(id + "." + sent + ".")) // a hash does not fail
	_, _ = mac.Write(body)
	return mac.Sum(nil)
}
