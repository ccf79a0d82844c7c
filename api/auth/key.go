package auth

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"ratchet/internal/dynamo"
)

// NewKey describes a key to create.
type NewKey struct {
	// Name describes the use of the key: 1 to 64 printable ASCII characters.
	Name   string
	Tenant Tenant
	Scope  Scope
	// Personal grants sight of personal data, see [Principal].
	Personal bool
	// Expires is when the key ends. Zero means that it does not expire.
	Expires time.Time
}

var nameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\x20-\x7e]{1,64}$`) })

// validate returns ErrInvalid with every rule that n breaks.
func (n NewKey) validate(now time.Time) error {
	var errs []error
	if !nameRule().MatchString(n.Name) {
		errs = append(errs, fmt.Errorf("%w: name: 1 to 64 printable ASCII characters", ErrInvalid))
	}

	if !n.Scope.Valid() {
		errs = append(errs, fmt.Errorf("%w: scope: %s, %s or %s", ErrInvalid, Read, Act, Admin))
	}

	if !n.Expires.IsZero() && !n.Expires.After(now) {
		errs = append(errs, fmt.Errorf("%w: expires: must be in the future", ErrInvalid))
	}

	return errors.Join(append(errs, n.Tenant.Validate())...)
}

// build makes a key with a new token, and the item that stores it.
func (n NewKey) build(now time.Time) (Key, Token, dynamo.Item) {
	token := newToken()
	id, hash, _ := token.split()

	key := Key{
		ID:        id,
		Name:      n.Name,
		Tenant:    n.Tenant,
		Scope:     n.Scope,
		Personal:  n.Personal,
		CreatedAt: time.UnixMilli(now.UnixMilli()).UTC(), // as it is stored
		ExpiresAt: n.Expires,
	}
	item := dynamo.Item{
		"keyId":     dynamo.S(id),
		"hash":      dynamo.B(hash[:]),
		"name":      dynamo.S(n.Name),
		"tenant":    dynamo.S(string(n.Tenant)),
		"scope":     dynamo.S(string(n.Scope)),
		"createdAt": dynamo.Millis(now),
	}

	if n.Personal {
		item["personal"] = dynamo.Bool(true)
	}

	if !n.Expires.IsZero() {
		item["expiresAt"] = dynamo.Millis(n.Expires)
	}

	return key, token, item
}

// Key is the record of a key, without the hash of its secret.
type Key struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Tenant    Tenant    `json:"tenant"`
	Scope     Scope     `json:"scope"`
	Personal  bool      `json:"personal"`
	CreatedAt time.Time `json:"createdAt"`
	// ExpiresAt is zero for a key that does not expire.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// RevokedAt is zero for a key that was not revoked.
	RevokedAt time.Time `json:"revokedAt,omitzero"`
	// ReplacedBy is the id of the key that a rotation created in place of this one.
	ReplacedBy string `json:"replacedBy,omitempty"`
}

// Live reports whether the key is valid at the time.
func (k Key) Live(at time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || at.Before(k.ExpiresAt))
}

// principal returns the key's principal, or ErrRefused if the key is not valid now.
func (k Key) principal(now time.Time) (Principal, error) {
	if !k.Live(now) || !k.Scope.Valid() || k.Tenant.Validate() != nil {
		return Principal{}, ErrRefused
	}

	return Principal{ID: "key:" + k.ID, Tenant: k.Tenant, Scope: k.Scope, Personal: k.Personal}, nil
}

// isKey reports whether the item is an API key. The table also stores shared secrets,
// which have no hash.
func isKey(item dynamo.Item) bool { return item["hash"] != nil }

func decodeKey(item dynamo.Item) Key {
	return Key{
		ID:         dynamo.Text(item, "keyId"),
		Name:       dynamo.Text(item, "name"),
		Tenant:     Tenant(dynamo.Text(item, "tenant")),
		Scope:      Scope(dynamo.Text(item, "scope")),
		Personal:   dynamo.Flag(item, "personal"),
		CreatedAt:  dynamo.Time(item, "createdAt"),
		ExpiresAt:  dynamo.Time(item, "expiresAt"),
		RevokedAt:  dynamo.Time(item, "revokedAt"),
		ReplacedBy: dynamo.Text(item, "replacedBy"),
	}
}

// sameHash reports whether the item stores the hash of the token.
func sameHash(item dynamo.Item, token Token) bool {
	_, hash, _ := token.split()
	return subtle.ConstantTimeCompare(dynamo.Bytes(item, "hash"), hash[:]) == 1
}
