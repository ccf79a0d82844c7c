package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The headers of a message.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

const (
	// MaxSignatures is how many signatures a message may have, and how many secrets Keys.
	MaxSignatures = 10

	defaultTolerance = 5 * time.Minute
	maxHeader        = 4 << 10 // bytes of the three headers
	version          = "v1,"   // begins a signature
)

// An id with a dot would make the signed text ambiguous.
var idRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_:-]{1,128}$`) })

// Config configures [Keys].
type Config struct {
	// Secrets are 1 to [MaxSignatures]. They are required. A message is signed with each of them and accepted
	// with any. To change a secret, add the new one on both sides, then remove the old one.
	Secrets []Secret
	// Tolerance is how far the timestamp of a message may be from now, in either direction.
	// Default 5 minutes.
	Tolerance time.Duration
}

func (c *Config) check() error {
	var faults []error
	if len(c.Secrets) == 0 || len(c.Secrets) > MaxSignatures {
		faults = append(faults, fmt.Errorf("%w: Config.Secrets: 1 to %d, got %d", ErrInvalid, MaxSignatures, len(c.Secrets)))
	}

	if c.Tolerance < 0 {
		faults = append(faults, fmt.Errorf("%w: Config.Tolerance %s: must not be negative", ErrInvalid, c.Tolerance))
	}

	// A copy, because the caller may overwrite its secrets later.
	c.Secrets = slices.Clone(c.Secrets)
	for i, s := range c.Secrets {
		if err := s.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("Config.Secrets[%d]: %w", i, err))
		}

		c.Secrets[i] = slices.Clone(s)
	}

	if c.Tolerance == 0 {
		c.Tolerance = defaultTolerance
	}

	return errors.Join(faults...)
}

// Keys signs and verifies messages. It is safe for concurrent use.
type Keys struct {
	cfg Config
	now func() time.Time // time.Now, but for tests with published messages
}

// New returns Keys. The error names every field that breaks a rule.
func New(cfg Config) (*Keys, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}

	return &Keys{cfg: cfg, now: time.Now}, nil
}

// Sign returns the headers of a message that is sent now. The id has 1 to 128 of A-Z a-z 0-9 _ : -
// and must be the same for every delivery of the message. The timestamp and the signature are new
// for each delivery.
func (k *Keys) Sign(id string, body []byte) (http.Header, error) {
	if !idRule().MatchString(id) {
		return nil, fmt.Errorf("%w: id: 1 to 128 characters of A-Z a-z 0-9 _ : -", ErrInvalid)
	}

	sent := strconv.FormatInt(k.now().Unix(), 10)
	signatures := make([]string, len(k.cfg.Secrets))
	for i, secret := range k.cfg.Secrets {
		// One signature for each secret: the receiver may know only the old secret, or only the new
		// one.
		signatures[i] = version + base64.StdEncoding.EncodeToString(secret.mac(id, sent, body))
	}

	return http.Header{
		HeaderID:        {id},
		HeaderTimestamp: {sent},
		HeaderSignature: {strings.Join(signatures, " ")},
	}, nil
}

// mac returns the signature of a message under the secret.
func (s Secret) mac(id, sent string, body []byte) []byte {
	mac := hmac.New(sha256.New, s)
	_, _ = mac.Write([]byte(id + "." + sent + ".")) // a hash does not fail
	_, _ = mac.Write(body)

	return mac.Sum(nil)
}
