package actions

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
)

// Key is a server-side secret. The first of [Config.Keys] signs ids and hashes PINs. Ids
// and hashes of an older key stay valid while that key is in the list. Keep a key until
// every action made with it has expired; then its version may be used again. A PIN is
// short, so anyone with both a key and the table can find it by trying all PINs.
type Key struct {
	// Version is 1 to 31. Each key of a list has a different version.
	Version int
	// Secret is 32 to 64 random bytes.
	Secret []byte
}

const (
	maxVersion = 31 // one character of a code
	minSecret  = 32
	maxSecret  = 64
)

// NewKey returns a random key.
func NewKey(version int) Key {
	k := Key{Version: version, Secret: make([]byte, minSecret)}
	_, _ = rand.Read(k.Secret) // never fails since Go 1.24
	return k
}

// ParseKeys reads a list of keys as [Key.Reveal] writes them, VERSION:BASE64, separated by
// commas or white space. The first one is the signing key.
func ParseKeys(text string) ([]Key, error) {
	var keys []Key
	for i, field := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
		version, encoded, _ := strings.Cut(field, ":")

		n, err := strconv.Atoi(version)
		secret, bad := base64.StdEncoding.Strict().DecodeString(encoded)
		if err != nil || bad != nil { // their texts would reveal a part of the secret
			return nil, fmt.Errorf("%w: key %d: must be VERSION:BASE64", ErrInvalid, i+1)
		}
		keys = append(keys, Key{Version: n, Secret: secret})
	}
	_, err := newKeyRing(keys, "")

	return keys, err
}

// Reveal returns the key with its secret, as [ParseKeys] reads it.
func (k Key) Reveal() string {
	return strconv.Itoa(k.Version) + ":" + base64.StdEncoding.EncodeToString(k.Secret)
}

func (k Key) String() string { return fmt.Sprintf("key %d", k.Version) }

// GoString keeps %#v from printing the secret.
func (k Key) GoString() string { return k.String() }

// LogValue keeps loggers from printing the secret.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText keeps encoders from writing the secret.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// keyRing holds the keys of one tenant, the signing key first.
type keyRing []tenantKey

// tenantKey holds a key for each purpose. All are derived from one secret, and none
// reveals anything about the others.
type tenantKey struct {
	version  int
	id, code []byte // sign ids and generated codes
	pin, try []byte // hash PINs and the names of tries
}

// newKeyRing checks the keys and derives the keys of the tenant.
func newKeyRing(keys []Key, tenant string) (keyRing, error) {
	r := make(keyRing, 0, len(keys))
	for i, k := range keys {
		switch {
		case k.Version < 1 || k.Version > maxVersion:
			return nil, fmt.Errorf("%w: key %d: version %d: 1 to %d", ErrInvalid, i+1, k.Version, maxVersion)
		case slices.ContainsFunc(r, func(o tenantKey) bool { return o.version == k.Version }):
			return nil, fmt.Errorf("%w: key %d: version %d is listed twice", ErrInvalid, i+1, k.Version)
		case len(k.Secret) < minSecret || len(k.Secret) > maxSecret:
			return nil, fmt.Errorf("%w: key %d: secret: %d to %d bytes, got %d", ErrInvalid, i+1, minSecret, maxSecret, len(k.Secret))
		}

		t := tenantKey{version: k.Version}
		for purpose, derived := range map[string]*[]byte{"id": &t.id, "code": &t.code, "pin": &t.pin, "try": &t.try} {
			var err error
			// The text is part of the derived keys, not the path of a package: it never changes.
			if *derived, err = hkdf.Key(sha256.New, k.Secret, nil, "ratchet/actions/"+purpose+"/"+tenant, sha256.Size); err != nil {
				return nil, fmt.Errorf("derive %s: %w", k, err)
			}
		}
		r = append(r, t)
	}

	return r, nil
}

// signing returns the key that signs, or ErrNoKey if the ring is empty.
func (r keyRing) signing() (tenantKey, error) {
	if len(r) == 0 {
		return tenantKey{}, ErrNoKey
	}
	return r[0], nil
}

func (r keyRing) version(n int) (tenantKey, bool) {
	i := slices.IndexFunc(r, func(k tenantKey) bool { return k.version == n })
	if i < 0 {
		return tenantKey{}, false
	}

	return r[i], true
}

// mac returns the HMAC-SHA256 of the parts. Each part follows its length, so that
// different lists of parts never give the same input.
func mac(key []byte, parts ...string) []byte {
	m := hmac.New(sha256.New, key)

	var space [128]byte
	for _, p := range parts {
		text := append(strconv.AppendInt(space[:0], int64(len(p)), 10), ':')
		_, _ = m.Write(append(text, p...)) // a hash does not fail
	}

	return m.Sum(nil)
}
