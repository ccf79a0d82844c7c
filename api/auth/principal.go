package auth

import (
	"context"
	"errors"
	"fmt"
	"regexp"
)

var (
	// ErrRefused says that a token is malformed, unknown, expired, revoked, or issued for
	// another service. Callers are not told which; the error's text is for the log.
	ErrRefused = errors.New("the credential is refused")
	// ErrInvalid says that an argument breaks a rule. The text names both.
	ErrInvalid = errors.New("invalid")
)

// Scope limits the actions of a principal. Each scope includes the lower scopes.
type Scope string

// The scopes, from the lowest to the highest.
const (
	Read  Scope = "read"  // read
	Act   Scope = "act"   // request changes
	Admin Scope = "admin" // operate: stock levels, accounts, parked tasks, dead letters
)

var ranks = map[Scope]int{Read: 1, Act: 2, Admin: 3}

// Valid reports whether the scope is one of the three.
func (s Scope) Valid() bool { return ranks[s] > 0 }

// Tenant names the owner of data: 1 to 20 characters of a-z, 0-9 and -, beginning with a
// letter, and not "orders".
type Tenant string

// DefaultTenant owns everything that the commands and the demo create.
const DefaultTenant Tenant = "default"

// ordersName begins the names of the accounts from which orders are paid, as in orders:sales:EUR: a tenant of
// this name would own them.
const ordersName Tenant = "orders"

var tenantRule = regexp.MustCompile(`^[a-z][a-z0-9-]{0,19}$`)

// Validate returns ErrInvalid with the rule if the tenant breaks it.
func (t Tenant) Validate() error {
	if !tenantRule.MatchString(string(t)) {
		return fmt.Errorf("%w: tenant: 1 to 20 characters of a-z 0-9 -, beginning with a letter", ErrInvalid)
	}

	if t == ordersName {
		return fmt.Errorf("%w: tenant: %s is the owner of the accounts from which orders are paid", ErrInvalid, t)
	}

	return nil
}

// Principal is a caller whose credential has been checked.
type Principal struct {
	// ID names the caller in audit lines and rate limits, such as "key:2vq0..." or
	// "oidc:subject". It is not secret.
	ID     string
	Tenant Tenant
	Scope  Scope
	// Personal grants sight of personal data: customers, addresses, notes, metadata, and the texts of causes
	// and refusals. It stands beside the scopes: none of them includes it.
	Personal bool
}

// Dev is the caller of a process that authenticates no callers: everyone who can reach it.
var Dev = Principal{ID: "dev", Tenant: DefaultTenant, Scope: Admin, Personal: true}

// May reports whether the principal's scope includes s.
func (p Principal) May(s Scope) bool { return ranks[s] > 0 && ranks[p.Scope] >= ranks[s] }

// Authenticator turns a bearer token into a principal. It returns ErrRefused for a token
// that it does not accept, and another error if the check failed.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (Principal, error)
}

// Any tries several authenticators in order.
type Any []Authenticator

// Authenticate returns the answer of the first authenticator that does not refuse the
// token. An authenticator that could not check the token ends the search with its error.
func (a Any) Authenticate(ctx context.Context, token string) (Principal, error) {
	for _, authenticator := range a {
		p, err := authenticator.Authenticate(ctx, token)
		if !errors.Is(err, ErrRefused) {
			return p, err
		}
	}

	return Principal{}, ErrRefused
}
