package auth

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

const (
	// issuerTimeout bounds a request to the issuer.
	issuerTimeout = 10 * time.Second
	// discoverEvery is the least time between two requests for the issuer's configuration.
	discoverEvery = 5 * time.Second
	// keysFor is how long a key set is used before it is fetched again: a key that the issuer has withdrawn
	// is refused then. A max-age of the issuer that is shorter counts, down to leastKeysFor.
	keysFor      = 5 * time.Minute
	leastKeysFor = 15 * time.Second
	// keysWithoutIssuer is how long a key set is used while the issuer does not answer.
	keysWithoutIssuer = 15 * time.Minute
)

// OIDC authenticates tokens of an OpenID Connect issuer. It reads the issuer's configuration with Run or when it needs
// it first, and until the issuer has answered no token can be checked. It fetches the issuer's keys every five minutes, or as often
// as the issuer's Cache-Control says, and goes on with them for 15 minutes if the issuer does not answer. A token
// with an unknown key id leads to another fetch, at most 3 times at once and then once in 10 seconds. Between two
// fetches, tokens with an unknown key id are refused.
type OIDC struct {
	claims Claims
	client *http.Client
	keys   *throttledTransport

	// discovering has room for the one who reads the configuration.
	discovering chan struct{}

	mu       sync.Mutex
	provider *oidc.Provider
	failed   error     // of the last request for the configuration
	tryAt    time.Time // when to ask again
	current  *keySet
	previous *keySet // used until current is fetched
}

// keySet is the issuer's keys as of one time. It fetches them at its first use.
type keySet struct {
	verifier *oidc.IDTokenVerifier
	born     time.Time
	fetched  bool
}

// NewOIDC checks claims, which say what a token must contain. It does not wait for the issuer.
func NewOIDC(claims Claims) (*OIDC, error) {
	return newOIDC(claims, &http.Client{Timeout: issuerTimeout})
}

// newOIDC returns an authenticator that fetches the issuer's configuration and keys with the client.
func newOIDC(claims Claims, client *http.Client) (*OIDC, error) {
	claims = claims.withDefaults()
	if err := claims.validate(); err != nil {
		return nil, err
	}

	bounded := *client
	bounded.Transport = BoundedTransport(client.Transport)

	return &OIDC{
		claims:      claims,
		client:      &bounded,
		keys:        newThrottledTransport(bounded.Transport),
		discovering: make(chan struct{}, 1),
	}, nil
}

// Run asks for the issuer's configuration until the issuer has answered or ctx ends, so that the first token need not
// wait. It returns nil.
func (o *OIDC) Run(ctx context.Context) error {
	again := time.NewTicker(discoverEvery)
	defer again.Stop()

	for {
		if _, err := o.discover(ctx); err == nil {
			return nil
		}

		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

// Ready returns an error until the issuer's configuration was read. It asks no one.
func (o *OIDC) Ready() error {
	o.mu.Lock()
	defer o.mu.Unlock()

	switch {
	case o.provider != nil:
		return nil
	case o.failed != nil:
		return o.failed
	}

	return fmt.Errorf("the configuration of issuer %s was not read yet", o.claims.Issuer)
}

// discover returns the issuer's configuration. It asks the issuer at most every discoverEvery, and returns the last
// error meanwhile.
func (o *OIDC) discover(ctx context.Context) (*oidc.Provider, error) {
	if provider, err := o.discovered(); provider != nil || err != nil {
		return provider, err
	}

	select {
	case o.discovering <- struct{}{}:
		defer func() { <-o.discovering }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the configuration of issuer %s: %w", o.claims.Issuer, ctx.Err())
	}

	// Another caller may have asked meanwhile.
	if provider, err := o.discovered(); provider != nil || err != nil {
		return provider, err
	}

	// The answer is for other callers, too: the end of this call must not spoil it. The client has a time limit.
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), issuerTimeout)
	defer cancel()

	provider, err := oidc.NewProvider(oidc.ClientContext(asking, o.client), o.claims.Issuer)
	if err != nil {
		err = fmt.Errorf("read the configuration of issuer %s: %w", o.claims.Issuer, err)
	}

	o.mu.Lock()
	defer o.mu.Unlock()

	o.provider, o.failed, o.tryAt = provider, err, time.Now().Add(discoverEvery)

	return provider, err
}

// discovered returns the configuration, or the error that counts at present. Both are nil if it is time to ask.
func (o *OIDC) discovered() (*oidc.Provider, error) {
	o.mu.Lock()
	defer o.mu.Unlock()

	if o.provider == nil && time.Now().Before(o.tryAt) {
		return nil, o.failed
	}

	return o.provider, nil
}

// keySets returns the key set to use, and the one before it, nil if it must not be used any more.
func (o *OIDC) keySets(provider *oidc.Provider) (current, previous *keySet) {
	o.mu.Lock()
	defer o.mu.Unlock()

	now := time.Now()

	age := min(keysFor, o.keys.maxAge(keysFor))
	if o.current == nil || o.current.fetched && now.Sub(o.current.born) >= max(age, leastKeysFor) {
		o.previous, o.current = o.current, &keySet{verifier: o.verifier(provider), born: now}
	}

	if o.previous != nil && now.Sub(o.previous.born) >= keysWithoutIssuer {
		o.previous = nil
	}

	return o.current, o.previous
}

func (o *OIDC) verifier(provider *oidc.Provider) *oidc.IDTokenVerifier {
	client := *o.client
	client.Transport = o.keys

	// The verifier keeps the context for all its fetches.
	return provider.VerifierContext(oidc.ClientContext(context.Background(), &client), &oidc.Config{
		ClientID:             o.claims.Audience,
		SupportedSigningAlgs: algorithms,
	})
}

// verify checks the token with the current keys, or with those before if the current ones cannot be fetched.
func (o *OIDC) verify(ctx context.Context, provider *oidc.Provider, token string) (*oidc.IDToken, error) {
	current, previous := o.keySets(provider)

	verified, err := current.verifier.Verify(ctx, token)
	if !IsFetchError(err) {
		o.fetched(current)
		return verified, err
	}

	if previous == nil {
		return nil, err
	}

	return previous.verifier.Verify(ctx, token)
}

// fetched notes that the key set has its keys, so that the one before it is not used any more.
func (o *OIDC) fetched(set *keySet) {
	o.mu.Lock()
	defer o.mu.Unlock()

	if !set.fetched {
		set.fetched, set.born = true, time.Now()
	}

	if o.current == set {
		o.previous = nil
	}
}

// Authenticate checks signature, issuer, audience and time of the token, and reads its
// claims. It fails with ErrRefused, or with another error if the issuer's configuration or keys cannot be
// fetched.
func (o *OIDC) Authenticate(ctx context.Context, token string) (Principal, error) {
	// A text that is no access token is refused here, so that it cannot make the verifier fetch keys.
	claims, err := o.claims.read(token)
	if err != nil {
		return Principal{}, err
	}

	provider, err := o.discover(ctx)
	if err != nil {
		return Principal{}, err
	}

	verified, err := o.verify(ctx, provider, token)
	if err != nil {
		return Principal{}, o.verifyError(err)
	}

	return o.claims.principal("oidc", verified.Subject, claims)
}

// IsFetchError reports whether a verifier of go-oidc has not checked a token because the keys are missing. Go-oidc formats
// the causes of its errors without wrapping them, so only their text can be compared.
func IsFetchError(err error) bool {
	return err != nil && strings.Contains(err.Error(), "fetching keys")
}

// verifyError distinguishes refused tokens from tokens that were not checked.
func (o *OIDC) verifyError(err error) error {
	if IsFetchError(err) && !strings.Contains(err.Error(), errKeySetCurrent.Error()) {
		return fmt.Errorf("keys of issuer %s: %w", o.claims.Issuer, err)
	}

	return fmt.Errorf("%w: %w", ErrRefused, err)
}
