package session

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"ratchet/api/auth"
	"ratchet/internal/clientnet"
)

const (
	// providerTimeout bounds a request to the provider.
	providerTimeout = 10 * time.Second
	// discoverEvery is the least time between two requests for the provider's configuration while it fails.
	discoverEvery = 5 * time.Second
	// CallbackPath is where the provider sends the browser back.
	CallbackPath = "/console/login/callback"
)

// Provider is an OpenID Connect provider at which persons log in.
type Provider struct {
	// Claims says who issues the tokens, and which claims have tenant and scopes.
	Claims auth.Claims
	// ClientID and ClientSecret are those of the console at the provider. The secret is empty for a public client.
	ClientID, ClientSecret string
	// Scopes are asked for, beside openid.
	Scopes []string
	// Access checks the access tokens of the issuer, as the API does. Nil: tenant and scopes are in the ID token.
	Access auth.Authenticator

	mu         sync.Mutex
	discovered *oidc.Provider
	failed     error
	tryAt      time.Time
}

// algorithms are the accepted signatures: none with a shared secret.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

var providerClient = &http.Client{Timeout: providerTimeout, Transport: auth.BoundedTransport(nil)}

// discover returns the configuration of the provider, which is read when it is needed first.
func (p *Provider) discover() (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.discovered != nil || time.Now().Before(p.tryAt) {
		return p.discovered, p.failed
	}

	// The answer is for all who log in; the client bounds the wait. The provider keeps the context for its key sets.
	p.discovered, p.failed = oidc.NewProvider(oidc.ClientContext(context.Background(), providerClient), p.Claims.Issuer)
	p.tryAt = time.Now().Add(discoverEvery)

	return p.discovered, p.failed
}

func (p *Provider) client(from *oidc.Provider, origin string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: from.Endpoint(),
		RedirectURL: origin + CallbackPath, Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...),
	}
}

// begun is the content of the cookie of a login that has begun.
type begun struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Back     string    `json:"back"`
	Until    time.Time `json:"until"`
}

// Begin begins a login at the provider, and returns the address there. After the login, the browser goes to the path
// back of the console.
func (l *Login) Begin(w http.ResponseWriter, r *http.Request, back string) (string, error) {
	if l.cfg.Provider == nil {
		return "", fmt.Errorf("%w: there is no provider", ErrRefused)
	}

	if err := l.admit(r); err != nil {
		return "", err
	}

	provider, err := l.cfg.Provider.discover()
	if err != nil {
		return "", fmt.Errorf("read the configuration of the provider: %w", err)
	}

	b := begun{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Back: Local(back), Until: time.Now().Add(loginFor)}

	text, err := l.begun.put(b)
	if err != nil {
		return "", err
	}
	setCookie(w, loginCookie, text, b.Until)

	return l.cfg.Provider.client(provider, l.origin(r)).AuthCodeURL(b.State, oidc.Nonce(b.Nonce), oauth2.S256ChallengeOption(b.Verifier)), nil
}

// Finish ends a login with which the provider sends the browser back, and returns the path to go to.
func (l *Login) Finish(w http.ResponseWriter, r *http.Request) (back string, err error) {
	// Whatever comes of it, the cookie has served.
	clearCookie(w, loginCookie)

	if l.cfg.Provider == nil {
		return "", fmt.Errorf("%w: there is no provider", ErrRefused)
	}

	if err := l.admit(r); err != nil {
		return "", err
	}

	b, err := l.takeBegun(r)
	if err != nil {
		// Any page can lead a browser here, and it is no try at a secret: it does not count.
		l.cfg.Log.WarnContext(r.Context(), "a login to the console is refused", "from", clientnet.Of(r.RemoteAddr), "reason", err)
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	}

	s, err := l.cfg.Provider.exchange(r.Context(), b, r.URL.Query().Get("code"), l.origin(r))

	switch {
	case errors.Is(err, auth.ErrRefused):
		return "", l.refused(r, err)
	case err != nil:
		return "", fmt.Errorf("log in at the provider: %w", err)
	}
	s.Scope = lower(s.Scope, l.cfg.MaxScope)

	return b.Back, l.begin(w, s)
}

// takeBegun returns the login that the browser has begun, if the provider's answer belongs to it. It counts once.
func (l *Login) takeBegun(r *http.Request) (begun, error) {
	text, has := cookie(r, loginCookie)
	if !has {
		return begun{}, errors.New("this browser has begun no login")
	}

	var b begun
	if err := l.begun.take(text, &b); err != nil {
		return begun{}, err
	}

	query := r.URL.Query()
	for _, name := range []string{"state", "code", "error", "iss"} {
		if len(query[name]) > 1 {
			return begun{}, fmt.Errorf("the answer has %s twice", name)
		}
	}

	switch {
	case !time.Now().Before(b.Until):
		return begun{}, errors.New("the login was begun too long ago")
	case subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(b.State)) != 1:
		return begun{}, errors.New("the answer belongs to another login (state)")
	case query.Has("iss") && query.Get("iss") != l.cfg.Provider.Claims.Issuer:
		return begun{}, errors.New("the answer is of another provider (iss, RFC 9207)")
	case !l.useOnce(b):
		return begun{}, errors.New("the login has ended before")
	case query.Has("error"):
		return begun{}, fmt.Errorf("the provider says %.64q", query.Get("error"))
	case query.Get("code") == "":
		return begun{}, errors.New("the answer has no code")
	}

	return b, nil
}

// useOnce reports whether the login has not ended before, in this process. The code is the provider's to refuse then.
func (l *Login) useOnce(b begun) bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	now := time.Now()
	for state, until := range l.used {
		if !now.Before(until) {
			delete(l.used, state)
		}
	}

	if _, found := l.used[b.State]; found {
		return false
	}
	l.used[b.State] = b.Until

	return true
}

// exchangeError returns the error of an exchange without the provider's words: they may repeat what a person has written,
// or the secret of the client.
func exchangeError(err error) error {
	answered, is := errors.AsType[*oauth2.RetrieveError](err)

	switch {
	case !is || answered.Response == nil:
		return err
	case answered.Response.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("the provider answered %d", answered.Response.StatusCode)
	}

	code := answered.ErrorCode
	if !slices.Contains(exchangeCodes, code) {
		code = "with a code of its own"
	}

	return fmt.Errorf("%w: the provider refuses the code: %s", auth.ErrRefused, code)
}

// exchangeCodes are the codes of an answer that refuses an exchange (RFC 6749, 5.2).
var exchangeCodes = []string{"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope"}

// exchange asks the provider for the tokens of a code, and returns the session of their person. It fails with
// auth.ErrRefused.
func (p *Provider) exchange(ctx context.Context, b begun, code, origin string) (session, error) {
	provider, err := p.discover()
	if err != nil {
		return session{}, err
	}
	ctx = oidc.ClientContext(ctx, providerClient)

	tokens, err := p.client(provider, origin).Exchange(ctx, code, oauth2.VerifierOption(b.Verifier))
	if err != nil {
		return session{}, exchangeError(err)
	}

	raw, _ := tokens.Extra("id_token").(string)

	id, err := p.verify(ctx, provider, raw)
	if err != nil {
		return session{}, err
	}

	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(b.Nonce)) != 1 {
		return session{}, fmt.Errorf("%w: the ID token belongs to another login (nonce)", auth.ErrRefused)
	}

	return p.session(ctx, id, tokens)
}

// verify checks an ID token with the keys that the provider has now: one that it has withdrawn signs no login. It fails
// with auth.ErrRefused, or with another error if the keys cannot be fetched.
func (p *Provider) verify(ctx context.Context, provider *oidc.Provider, raw string) (*oidc.IDToken, error) {
	if err := p.Claims.CheckNames(raw); err != nil {
		return nil, fmt.Errorf("ID token: %w", err)
	}

	// A verifier of its own has no keys yet.
	id, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: p.ClientID, SupportedSigningAlgs: algorithms}).Verify(ctx, raw)

	switch {
	case auth.IsFetchError(err):
		return nil, fmt.Errorf("keys of the provider: %w", err)
	case err != nil:
		return nil, fmt.Errorf("%w: ID token: %w", auth.ErrRefused, err)
	}

	return id, nil
}

// session returns the session of a verified ID token.
func (p *Provider) session(ctx context.Context, id *oidc.IDToken, tokens *oauth2.Token) (session, error) {
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return session{}, fmt.Errorf("%w: ID token: %w", auth.ErrRefused, err)
	}

	// A token for several parties says which one asked for it.
	if azp, has := claims["azp"]; has && azp != p.ClientID || !has && len(id.Audience) > 1 {
		return session{}, fmt.Errorf("%w: the ID token was issued for another client (azp)", auth.ErrRefused)
	}

	// Who, from the token that has tenant and scopes.
	who, err := p.Claims.Principal(id.Subject, claims)
	until := earliest(id.Expiry, time.Now().Add(longest))

	if p.Access != nil {
		if who, err = p.Access.Authenticate(ctx, tokens.AccessToken); err == nil && !isOf(who, id.Subject) {
			err = auth.ErrRefused
		}

		if errors.Is(err, auth.ErrRefused) {
			err = fmt.Errorf("access token (console-claims-token id takes the ID token): %w", err)
		}

		until = earliest(until, auth.Expiry(tokens.AccessToken))
	}

	if err != nil {
		return session{}, err
	}

	return session{Issuer: p.Claims.Issuer, ID: who.ID, Tenant: who.Tenant, Scope: who.Scope, Personal: who.Personal, Until: until}, nil
}

// isOf reports whether the caller is the subject, as a token names it.
func isOf(who auth.Principal, subject string) bool {
	return who.ID == "oidc:"+subject || who.ID == "jwt:"+subject
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}

	return a
}
