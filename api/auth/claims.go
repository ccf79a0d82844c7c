package auth

import (
	"errors"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
)

// Claims says what a token must contain, and which claims hold tenant and scope.
type Claims struct {
	// A token must name this Issuer and this Audience. Both are required.
	Issuer, Audience string
	// TenantClaim names the claim that holds the tenant. Default "tenant". A token without
	// this claim is refused.
	TenantClaim string
	// ScopeClaim names the claim that holds the scopes. Default: "scope", or "scp" in a token without that.
	ScopeClaim string
	// ScopePrefix precedes the scopes of this API among the token's scopes: with
	// "ratchet:", the token's "ratchet:act" is Act, and "ratchet:personal" beside it is the grant for personal
	// data. Default "ratchet:".
	ScopePrefix string
}

// algorithms are the accepted signatures. All are asymmetric: an algorithm with a shared
// secret would let an attacker use the public key as that secret (RFC 8725, 2.1).
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

const (
	// maxToken is the largest token that is parsed, in bytes.
	maxToken = 8 << 10
	// maxSubject is the largest subject, in bytes (OpenID Connect Core, 2).
	maxSubject = 255
)

func (c Claims) withDefaults() Claims {
	if c.TenantClaim == "" {
		c.TenantClaim = "tenant"
	}

	if c.ScopePrefix == "" {
		c.ScopePrefix = "ratchet:"
	}

	return c
}

// validate reports every field that breaks its rule.
func (c Claims) validate() error {
	var errs []error
	if c.Issuer == "" {
		errs = append(errs, errors.New("auth: Claims.Issuer: must not be empty"))
	}

	if c.Audience == "" {
		errs = append(errs, errors.New("auth: Claims.Audience: must not be empty"))
	}

	return errors.Join(errs...)
}

// Principal returns the principal of a verified token of the issuer: its subject with its tenant, scope and grant. It fails
// with ErrRefused if one of them is missing or invalid.
func (c Claims) Principal(subject string, claims map[string]any) (Principal, error) {
	return c.withDefaults().principal("oidc", subject, claims)
}

// principal returns the principal of a verified token: its subject, its tenant, and the
// highest scope and the grant for personal data that it has. It fails with ErrRefused if one of them is missing or
// invalid.
func (c Claims) principal(kind, subject string, claims map[string]any) (Principal, error) {
	// A claim of another type is "", which is no valid tenant.
	tenant, _ := claims[c.TenantClaim].(string)
	granted := c.granted(claims)
	p := Principal{
		ID:       kind + ":" + subject,
		Tenant:   Tenant(tenant),
		Scope:    c.highestScope(granted),
		Personal: slices.Contains(granted, c.ScopePrefix+personalScope),
	}

	if subject == "" || len(subject) > maxSubject || !p.Scope.Valid() || p.Tenant.Validate() != nil {
		return Principal{}, ErrRefused
	}

	return p, nil
}

// scopes returns the claim with the scopes.
func (c Claims) scopes(claims map[string]any) any {
	if c.ScopeClaim != "" {
		return claims[c.ScopeClaim]
	}

	// Okta and Entra write scp.
	if scopes, has := claims["scope"]; has {
		return scopes
	}

	return claims["scp"]
}

// personalScope is the grant for personal data among the scopes of a token. It is no scope: none includes it, and it
// includes none.
const personalScope = "personal"

// granted returns the scopes of the token, of this API and of others. Issuers write the claim as one string with
// spaces (RFC 8693, 4.2) or as a list.
func (c Claims) granted(claims map[string]any) (granted []string) {
	switch claim := c.scopes(claims).(type) {
	case string:
		granted = strings.Fields(claim)
	case []any:
		for _, member := range claim {
			text, _ := member.(string)
			granted = append(granted, text)
		}
	}

	return granted
}

// highestScope returns the highest scope of this API among the granted ones, "" for none.
func (c Claims) highestScope(granted []string) Scope {
	var highest Scope
	// From the lowest to the highest: the last one found counts.
	for _, scope := range []Scope{Read, Act, Admin} {
		if slices.Contains(granted, c.ScopePrefix+string(scope)) {
			highest = scope
		}
	}

	return highest
}
