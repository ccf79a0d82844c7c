package auth

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// OIDC authenticates tokens of an OpenID Connect issuer. It fetches the issuer's keys and
// keeps them. A token with an unknown key id leads to another fetch, at most 3 times at once
// and then once in 10 seconds. Between two fetches, tokens with an unknown key id are refused.
type OIDC struct {
	claims   Claims
	verifier *oidc.IDTokenVerifier
}

// NewOIDC checks claims, which say what a token must contain, and reads the issuer's
// configuration. It fails if the issuer does not answer within 10 s.
func NewOIDC(ctx context.Context, claims Claims) (*OIDC, error) {
	return newOIDC(ctx, claims, &http.Client{Timeout: 10 * time.Second})
}

// newOIDC returns an authenticator that fetches the issuer's configuration and keys with the client.
func newOIDC(ctx context.Context, claims Claims, client *http.Client) (*OIDC, error) {
	claims = claims.withDefaults()
	if err := claims.validate(); err != nil {
		return nil, err
	}

	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), claims.Issuer)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of issuer %s: %w", claims.Issuer, err)
	}

	keySetClient := *client
	keySetClient.Transport = newThrottledTransport(client.Transport)

	// The verifier keeps this context for all later fetches, so it must outlive ctx.
	verifierContext := oidc.ClientContext(context.WithoutCancel(ctx), &keySetClient)
	verifier := provider.VerifierContext(verifierContext, &oidc.Config{
		ClientID:             claims.Audience,
		SupportedSigningAlgs: algorithms,
	})

	return &OIDC{claims: claims, verifier: verifier}, nil
}

// Authenticate checks signature, issuer, audience and time of the token, and reads its
// claims. It fails with ErrRefused, or with another error if the issuer's keys cannot be
// fetched.
func (o *OIDC) Authenticate(ctx context.Context, token string) (Principal, error) {
	// A text that is no JWT is refused here, so that it cannot make the verifier fetch keys.
	if len(token) > maxToken || strings.Count(token, ".") != 2 {
		return Principal{}, ErrRefused
	}

	verified, err := o.verifier.Verify(ctx, token)
	if err != nil {
		return Principal{}, o.verifyError(err)
	}

	var claims map[string]any
	if err := verified.Claims(&claims); err != nil {
		return Principal{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}

	return o.claims.principal("oidc", verified.Subject, claims)
}

// verifyError distinguishes refused tokens from tokens that were not checked. go-oidc formats
// the causes of its errors without wrapping them, so only their text can be compared.
func (o *OIDC) verifyError(err error) error {
	text := err.Error()
	keysMissing := strings.Contains(text, "fetching keys") && !strings.Contains(text, errKeySetCurrent.Error())

	if keysMissing {
		return fmt.Errorf("keys of issuer %s: %w", o.claims.Issuer, err)
	}

	return fmt.Errorf("%w: %w", ErrRefused, err)
}
