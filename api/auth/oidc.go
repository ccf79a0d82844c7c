package auth

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/golang-jwt/jwt/v5"
)

// Claims says what a token must hold and where tenant and scope stand in it.
type Claims struct {
	// Issuer and Audience must be those of the token.
	Issuer, Audience string
	// TenantClaim names the claim with the tenant. Default "tenant". A token without
	// it is refused.
	TenantClaim string
	// ScopePrefix begins our scopes among the token's, like "ratchet:" for
	// "ratchet:act". Default "ratchet:".
	ScopePrefix string
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// algorithms are the signatures that are taken: no secret is shared with the issuer,
// and "none" is none.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// maxToken bounds what is parsed.
const maxToken = 8 << 10

func (c Claims) withDefaults() (Claims, error) {
	if c.Issuer == "" || c.Audience == "" {
		return c, errors.New("auth: Claims.Issuer and Claims.Audience must be set")
	}

	if c.TenantClaim == "" {
		c.TenantClaim = "tenant"
	}

	if c.ScopePrefix == "" {
		c.ScopePrefix = "ratchet:"
	}

	if c.Now == nil {
		c.Now = time.Now
	}

	return c, nil
}

// principal reads subject, tenant and the highest of our scopes.
func (c Claims) principal(kind, subject string, claims map[string]any) (Principal, error) {
	tenant, _ := claims[c.TenantClaim].(string)
	p := Principal{ID: kind + ":" + subject, Tenant: Tenant(tenant)}

	var granted []string
	switch scope := claims["scope"].(type) {
	case string:
		granted = strings.Fields(scope)
	case []any:
		for _, s := range scope {
			text, _ := s.(string)
			granted = append(granted, text)
		}
	}

	for _, s := range []Scope{Read, Act, Admin} {
		if slices.Contains(granted, c.ScopePrefix+string(s)) {
			p.Scope = s
		}
	}

	if subject == "" || len(subject) > 255 || !p.Scope.Valid() || p.Tenant.Validate() != nil {
		return Principal{}, ErrRefused
	}

	return p, nil
}

// OIDC takes tokens of an OpenID Connect issuer. Its keys are fetched from the issuer
// and kept; an unknown key id makes it ask again, but not at anybody's will: 3 times, and
// then once in 10 seconds. In between a token with a key that it does not know is refused.
type OIDC struct {
	claims   Claims
	verifier *oidc.IDTokenVerifier
}

// NewOIDC reads the issuer's configuration. The client fetches it and the keys; nil:
// one with a time-out of 10 s.
func NewOIDC(ctx context.Context, claims Claims, client *http.Client) (*OIDC, error) {
	claims, err := claims.withDefaults()
	if err != nil {
		return nil, err
	}

	if client == nil {
		client = &http.Client{Timeout: 10 * time.Second}
	}

	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), claims.Issuer)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of issuer %s: %w", claims.Issuer, err)
	}
	keys := *client
	keys.Transport = newSparing(client.Transport, claims.Now)

	return &OIDC{claims: claims, verifier: provider.VerifierContext(oidc.ClientContext(context.WithoutCancel(ctx), &keys),
		&oidc.Config{ClientID: claims.Audience, SupportedSigningAlgs: algorithms, Now: claims.Now})}, nil
}

// Authenticate checks signature, issuer, audience and time, and reads the claims.
func (o *OIDC) Authenticate(ctx context.Context, token string) (Principal, error) {
	if len(token) > maxToken || strings.Count(token, ".") != 2 {
		return Principal{}, ErrRefused
	}

	checked, err := o.verifier.Verify(ctx, token)
	switch {
	case err != nil && strings.Contains(err.Error(), errFresh.Error()): // go-oidc keeps no error's type
		return Principal{}, fmt.Errorf("%w: %w", ErrRefused, err)
	case err != nil && strings.Contains(err.Error(), "fetching keys"):
		return Principal{}, fmt.Errorf("keys of issuer %s: %w", o.claims.Issuer, err)
	case err != nil:
		return Principal{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}

	var claims map[string]any
	if err := checked.Claims(&claims); err != nil {
		return Principal{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}

	return o.claims.principal("oidc", checked.Subject, claims)
}

// JWT takes tokens that were signed with the other half of a public key.
type JWT struct {
	claims Claims
	parser *jwt.Parser
	key    crypto.PublicKey
}

// NewJWT takes the public key as PEM (PKIX: RSA, ECDSA or Ed25519).
func NewJWT(claims Claims, publicKey []byte) (*JWT, error) {
	claims, err := claims.withDefaults()
	if err != nil {
		return nil, err
	}

	block, rest := pem.Decode(publicKey)
	if block == nil || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, fmt.Errorf("%w: public key: must be one PEM block", ErrInvalid)
	}

	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: public key: %w", ErrInvalid, err)
	}

	return &JWT{claims: claims, key: key, parser: jwt.NewParser(jwt.WithValidMethods(algorithms), jwt.WithIssuer(claims.Issuer),
		jwt.WithAudience(claims.Audience), jwt.WithExpirationRequired(), jwt.WithTimeFunc(claims.Now))}, nil
}

// Authenticate checks signature, issuer, audience and time, and reads the claims.
func (j *JWT) Authenticate(_ context.Context, token string) (Principal, error) {
	if len(token) > maxToken {
		return Principal{}, ErrRefused
	}

	claims := jwt.MapClaims{}
	if _, err := j.parser.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return j.key, nil }); err != nil {
		return Principal{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	subject, _ := claims.GetSubject()

	return j.claims.principal("jwt", subject, claims)
}
