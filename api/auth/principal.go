package auth

import (
	"context"
	"errors"
	"fmt"
	"regexp"
)

// ErrRefused: the token is malformed, unknown, expired, revoked, or not meant for us.
// Which of these it was stays in the server's log.
var ErrRefused = errors.New("the credential is refused")

// ErrInvalid: an argument breaks a rule; the text names both.
var ErrInvalid = errors.New("invalid")

// Scope is what a principal may do. Each scope includes the ones before it.
type Scope string

// The scopes.
const (
	Read  Scope = "read"  // look
	Act   Scope = "act"   // request changes
	Admin Scope = "admin" // operate: stock levels, parked tasks, dead letters
)

var ranks = map[Scope]int{Read: 1, Act: 2, Admin: 3}

// Valid reports whether the scope is one of the three.
func (s Scope) Valid() bool { return ranks[s] > 0 }

// Tenant names whose data it is: 1 to 20 characters of a-z 0-9 -, beginning with a
// letter.
type Tenant string

// DefaultTenant owns what the commands and the demo create.
const DefaultTenant Tenant = "default"

var tenantRule = regexp.MustCompile(`^[a-z][a-z0-9-]{0,19}$`)

// Validate names the rule that the tenant breaks.
func (t Tenant) Validate() error {
	if !tenantRule.MatchString(string(t)) {
		return fmt.Errorf("%w: tenant: 1 to 20 characters of a-z 0-9 -, beginning with a letter", ErrInvalid)
	}
	return nil
}

// Principal is a caller whose credential has been checked.
type Principal struct {
	// ID names the caller in audit lines and limits, like "key:2vq0..." or
	// "oidc:subject". It is no secret.
	ID     string
	Tenant Tenant
	Scope  Scope
}

// May reports whether the principal's scope includes s.
func (p Principal) May(s Scope) bool { return ranks[s] > 0 && ranks[p.Scope] >= ranks[s] }

// Authenticator turns a bearer token into a principal. It fails with ErrRefused, or
// with another error when it could not tell.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (Principal, error)
}

// Any asks several authenticators in turn; the first that does not refuse answers.
type Any []Authenticator

// Authenticate asks each in turn.
func (a Any) Authenticate(ctx context.Context, token string) (Principal, error) {
	for _, one := range a {
		p, err := one.Authenticate(ctx, token)
		if !errors.Is(err, ErrRefused) {
			return p, err
		}
	}

	return Principal{}, ErrRefused
}
