package auth_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ratchet/api/auth"
)

// issuer is an OpenID Connect provider with discovery, a key set and a real key.
type issuer struct {
	*httptest.Server
	key     *rsa.PrivateKey
	down    atomic.Bool  // the key set answers 503
	fetched atomic.Int64 // requests for the key set
	// hidden answers no question for the configuration, withdrawn has no key in the key set.
	hidden, withdrawn atomic.Bool
	cacheControl      atomic.Value // of the key set, a string
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()

	i := newUnstartedIssuer(t)
	i.Start()
	t.Cleanup(i.Close)

	return i
}

func newUnstartedIssuer(t *testing.T) *issuer {
	t.Helper()

	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		if i.hidden.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}

		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer":                                i.URL,
			"jwks_uri":                              i.URL + "/keys",
			"authorization_endpoint":                i.URL + "/auth",
			"token_endpoint":                        i.URL + "/token",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.fetched.Add(1)

		if i.down.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}

		if text, ok := i.cacheControl.Load().(string); ok {
			w.Header().Set("Cache-Control", text)
		}

		if i.withdrawn.Load() {
			_, _ = w.Write([]byte(`{"keys":[]}`))
			return
		}

		enc := base64.RawURLEncoding.EncodeToString
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]string{
			"kty": "RSA",
			"use": "sig",
			"alg": "RS256",
			"kid": "one",
			"n":   enc(key.N.Bytes()),
			"e":   enc(big.NewInt(int64(key.E)).Bytes()),
		}}})
	})
	i.Server = httptest.NewUnstartedServer(mux)

	return i
}

// claims returns the claims of a valid token, after change.
func (i *issuer) claims(change func(jwt.MapClaims)) jwt.MapClaims {
	c := jwt.MapClaims{
		"iss":    i.URL,
		"aud":    "ratchet",
		"sub":    "alice",
		"exp":    time.Now().Add(time.Hour).Unix(),
		"iat":    time.Now().Unix(),
		"tenant": "acme",
		"scope":  "openid ratchet:read ratchet:act",
	}
	if change != nil {
		change(c)
	}

	return c
}

func sign(t *testing.T, method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = "one"

	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}

	return text
}

// signAs signs claims under a header with other members.
func signAs(t *testing.T, i *issuer, header map[string]any, claims jwt.MapClaims) string {
	t.Helper()

	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = "one"
	maps.Copy(token.Header, header)

	text, err := token.SignedString(i.key)
	if err != nil {
		t.Fatal(err)
	}

	return text
}

// TestFormsOfAccessTokens: issuers write typ, scopes and uses in different ways.
func TestFormsOfAccessTokens(t *testing.T) {
	i := newIssuer(t)

	for what, row := range map[string]struct {
		header map[string]any
		change func(jwt.MapClaims)
		claims auth.Claims
	}{
		"RFC 9068":              {map[string]any{"typ": "at+jwt"}, nil, auth.Claims{}},
		"RFC 9068 in full":      {map[string]any{"typ": "application/at+JWT"}, nil, auth.Claims{}},
		"Okta":                  {nil, func(c jwt.MapClaims) { delete(c, "scope"); c["scp"] = []string{"ratchet:act"} }, auth.Claims{}},
		"Entra":                 {nil, func(c jwt.MapClaims) { delete(c, "scope"); c["scp"] = "ratchet:act other" }, auth.Claims{}},
		"Cognito":               {nil, func(c jwt.MapClaims) { c["token_use"] = "access" }, auth.Claims{}},
		"an older Keycloak":     {nil, func(c jwt.MapClaims) { c["typ"], c["nonce"] = "Bearer", "n" }, auth.Claims{}},
		"a claim of a setting":  {nil, func(c jwt.MapClaims) { delete(c, "scope"); c["roles"] = []string{"ratchet:act"} }, auth.Claims{ScopeClaim: "roles"}},
		"a tenant of a setting": {nil, func(c jwt.MapClaims) { delete(c, "tenant"); c["https://x.example/org"] = "acme" }, auth.Claims{TenantClaim: "https://x.example/org"}},
	} {
		row.claims.Issuer, row.claims.Audience = i.URL, "ratchet"

		o, err := auth.NewOIDC(row.claims)
		if err != nil {
			t.Fatal(err)
		}

		p, err := o.Authenticate(t.Context(), signAs(t, i, row.header, i.claims(row.change)))
		if err != nil || p != (auth.Principal{ID: "oidc:alice", Tenant: "acme", Scope: auth.Act}) {
			t.Errorf("%s: %+v, %v", what, p, err)
		}
	}
}

func (i *issuer) authenticator(t *testing.T) *auth.OIDC {
	t.Helper()

	o, err := auth.NewOIDC(auth.Claims{Issuer: i.URL, Audience: "ratchet"})
	if err != nil {
		t.Fatal(err)
	}

	return o
}

// jwt returns an authenticator that has the issuer's key.
func (i *issuer) jwt(t *testing.T) *auth.JWT {
	t.Helper()

	der, err := x509.MarshalPKIXPublicKey(&i.key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}

	j, err := auth.NewJWT(auth.JWTConfig{
		Claims:    auth.Claims{Issuer: i.URL, Audience: "ratchet"},
		PublicKey: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
	})
	if err != nil {
		t.Fatal(err)
	}

	return j
}

func TestATokenOfTheIssuerAuthenticatesItsTenant(t *testing.T) {
	i := newIssuer(t)
	p, err := i.authenticator(t).Authenticate(t.Context(), sign(t, jwt.SigningMethodRS256, i.key, i.claims(nil)))
	if err != nil || p != (auth.Principal{ID: "oidc:alice", Tenant: "acme", Scope: auth.Act}) {
		t.Errorf("scopes as a string: %+v, %v", p, err)
	}

	listed := i.claims(func(c jwt.MapClaims) { c["scope"] = []string{"ratchet:admin", "x"} })
	if p, err := i.authenticator(t).Authenticate(t.Context(), sign(t, jwt.SigningMethodRS256, i.key, listed)); err != nil || p.Scope != auth.Admin {
		t.Errorf("scopes as a list: %+v, %v", p, err)
	}
}

// invalidTokens returns tokens that must be refused, by what is wrong with them.
func invalidTokens(t *testing.T, i *issuer) map[string]string {
	t.Helper()

	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}

	der, err := x509.MarshalPKIXPublicKey(&i.key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	good := sign(t, jwt.SigningMethodRS256, i.key, i.claims(nil))
	parts := strings.Split(good, ".")
	with := func(change func(jwt.MapClaims)) string {
		return sign(t, jwt.SigningMethodRS256, i.key, i.claims(change))
	}

	return map[string]string{
		"another key":                      sign(t, jwt.SigningMethodRS256, stranger, i.claims(nil)),
		"no signature (alg none)":          sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, i.claims(nil)),
		"the public key as an HMAC secret": sign(t, jwt.SigningMethodHS256, publicPEM, i.claims(nil)),
		"without its signature":            parts[0] + "." + parts[1] + ".",
		"claims of another token":          parts[0] + "." + strings.Split(with(func(c jwt.MapClaims) { c["tenant"] = "evil" }), ".")[1] + "." + parts[2],
		"another issuer":                   with(func(c jwt.MapClaims) { c["iss"] = "https://evil.example" }),
		"another audience":                 with(func(c jwt.MapClaims) { c["aud"] = "other" }),
		"no audience":                      with(func(c jwt.MapClaims) { delete(c, "aud") }),
		"expired":                          with(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Minute).Unix() }),
		"without an expiry":                with(func(c jwt.MapClaims) { delete(c, "exp") }),
		"not valid yet":                    with(func(c jwt.MapClaims) { c["nbf"] = time.Now().Add(time.Hour).Unix() }),
		"no tenant":                        with(func(c jwt.MapClaims) { delete(c, "tenant") }),
		"an invalid tenant":                with(func(c jwt.MapClaims) { c["tenant"] = "acme:x" }),
		"a tenant that is a number":        with(func(c jwt.MapClaims) { c["tenant"] = 7 }),
		"no scope with the prefix":         with(func(c jwt.MapClaims) { c["scope"] = "read act admin" }),
		"no subject":                       with(func(c jwt.MapClaims) { delete(c, "sub") }),
		"not a JWT":                        "a.b.c",
		"an extension to understand":       signAs(t, i, map[string]any{"crit": []string{"x"}, "x": 1}, i.claims(nil)),
		"a logout token":                   signAs(t, i, map[string]any{"typ": "logout+jwt"}, i.claims(nil)),
		"a proof of possession":            signAs(t, i, map[string]any{"typ": "dpop+jwt"}, i.claims(nil)),
		"a security event":                 signAs(t, i, map[string]any{"typ": "secevent+jwt"}, i.claims(nil)),
		"bound to a key":                   with(func(c jwt.MapClaims) { c["cnf"] = map[string]string{"jkt": "x"} }),
		"an ID token":                      with(func(c jwt.MapClaims) { c["nonce"] = "n" }),
		"an ID token with a hash":          with(func(c jwt.MapClaims) { c["at_hash"] = "h" }),
		"an ID token of Keycloak":          with(func(c jwt.MapClaims) { c["typ"] = "ID" }),
		"an ID token of Cognito":           with(func(c jwt.MapClaims) { c["token_use"] = "id" }),
		"a refresh token":                  with(func(c jwt.MapClaims) { c["typ"] = "Refresh" }),
		"an issuer in another case":        with(func(c jwt.MapClaims) { c["Iss"], c["iss"] = c["iss"], "https://evil.example" }),
		"two issuers in different cases":   with(func(c jwt.MapClaims) { c["ISS"] = "https://evil.example" }),
		"a tenant in another case":         with(func(c jwt.MapClaims) { c["Tenant"] = "evil" }),
		"a subject in another case":        with(func(c jwt.MapClaims) { c["SUB"] = "evil" }),
		"a token of 9 KiB":                 strings.Repeat("a", 9<<10) + ".b.c",
	}
}

func TestInvalidTokensAreRefused(t *testing.T) {
	i := newIssuer(t)
	o, j := i.authenticator(t), i.jwt(t)

	for name, token := range invalidTokens(t, i) {
		for kind, a := range map[string]auth.Authenticator{"oidc": o, "jwt": j} {
			if p, err := a.Authenticate(t.Context(), token); !errors.Is(err, auth.ErrRefused) {
				t.Errorf("%s: %s: got %+v, %v, want ErrRefused", kind, name, p, err)
			}
		}
	}
}

func TestATokenIsNotRefusedWhileTheIssuerDoesNotAnswer(t *testing.T) {
	i := newIssuer(t)
	o := i.authenticator(t)
	i.down.Store(true)

	token := sign(t, jwt.SigningMethodRS256, i.key, i.claims(nil))
	if _, err := o.Authenticate(t.Context(), token); err == nil || errors.Is(err, auth.ErrRefused) {
		t.Errorf("while the issuer is down: %v", err)
	}
	i.down.Store(false)

	// go-oidc lets a caller join a fetch that has just ended, so a caller may still get
	// the failure from before. A caller that fetches the keys itself succeeds.
	for {
		before := i.fetched.Load()

		_, err := o.Authenticate(t.Context(), token)
		if err == nil {
			break
		}

		if i.fetched.Load() > before {
			t.Fatalf("when the issuer answers again: %v", err)
		}
		runtime.Gosched()
	}
}

// pipeListener accepts connections inside a synctest bubble: its clock stands still while a goroutine waits
// for the network, and goes on while it waits for a net.Pipe.
type pipeListener struct {
	accepted chan net.Conn
	closed   chan struct{}
	close    func()
}

func newPipeListener() *pipeListener {
	l := &pipeListener{accepted: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })

	return l
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.close(); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// dial is the DialContext of a transport whose connections the listener accepts.
func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.accepted <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// newPipedIssuer returns an issuer inside a synctest bubble, and the client that reaches it.
func newPipedIssuer(t *testing.T) (*issuer, *http.Client) {
	t.Helper()

	i := newUnstartedIssuer(t)
	if err := i.Listener.Close(); err != nil {
		t.Fatal(err)
	}

	pipes := newPipeListener()
	i.Listener = pipes
	i.Start()
	t.Cleanup(i.Close)

	client := &http.Client{Transport: &http.Transport{DialContext: pipes.dial}}
	t.Cleanup(client.CloseIdleConnections)

	return i, client
}

// Every token with an unknown key makes go-oidc fetch the key set again.
func TestUnknownKeysDoNotFloodTheIssuer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, client := newPipedIssuer(t)

		o, err := auth.NewOIDCWith(auth.Claims{Issuer: i.URL, Audience: "ratchet"}, client)
		if err != nil {
			t.Fatal(err)
		}

		stranger, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}

		good, bad := sign(t, jwt.SigningMethodRS256, i.key, i.claims(nil)), sign(t, jwt.SigningMethodRS256, stranger, i.claims(nil))
		for range 100 {
			if _, err := o.Authenticate(t.Context(), bad); !errors.Is(err, auth.ErrRefused) {
				t.Fatalf("a token with an unknown key: %v", err)
			}
		}

		if n := i.fetched.Load(); n != 3 {
			t.Errorf("the key set was fetched %d times, want 3", n)
		}

		if _, err := o.Authenticate(t.Context(), good); err != nil {
			t.Errorf("a valid token after the limit: %v", err)
		}
		time.Sleep(11 * time.Second)
		i.down.Store(true)

		// The first one is a fetch. The limit repeats the failure of the last fetch.
		for range 3 {
			if _, err := o.Authenticate(t.Context(), bad); err == nil || errors.Is(err, auth.ErrRefused) {
				t.Errorf("after a failed fetch: %v", err)
			}
		}

		if n := i.fetched.Load(); n != 4 {
			t.Errorf("the key set was fetched %d times, want 4", n)
		}
	})
}

func TestAJWTIsVerifiedWithEveryKindOfPublicKey(t *testing.T) {
	ec, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	public, private, err2 := ed25519.GenerateKey(rand.Reader)
	rs, err3 := rsa.GenerateKey(rand.Reader, 2048)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}

	claims := jwt.MapClaims{
		"iss":   "us",
		"aud":   []string{"x", "ratchet"},
		"sub":   "bob",
		"exp":   time.Now().Add(time.Hour).Unix(),
		"org":   "acme",
		"scope": "r/admin",
	}
	for name, c := range map[string]struct {
		public  crypto.PublicKey
		private any
		method  jwt.SigningMethod
	}{
		"RSA":     {&rs.PublicKey, rs, jwt.SigningMethodPS256},
		"ECDSA":   {&ec.PublicKey, ec, jwt.SigningMethodES256},
		"Ed25519": {public, private, jwt.SigningMethodEdDSA},
	} {
		der, err := x509.MarshalPKIXPublicKey(c.public)
		if err != nil {
			t.Fatal(err)
		}

		j, err := auth.NewJWT(auth.JWTConfig{
			Claims:    auth.Claims{Issuer: "us", Audience: "ratchet", TenantClaim: "org", ScopePrefix: "r/"},
			PublicKey: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
		})
		if err != nil {
			t.Fatal(err)
		}

		if p, err := j.Authenticate(t.Context(), sign(t, c.method, c.private, claims)); err != nil || p != (auth.Principal{
			ID:     "jwt:bob",
			Tenant: "acme",
			Scope:  auth.Admin,
		}) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}

	for _, bad := range []string{"", "no PEM", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"} {
		if _, err := auth.NewJWT(auth.JWTConfig{
			Claims:    auth.Claims{Issuer: "us", Audience: "ratchet"},
			PublicKey: []byte(bad),
		}); !errors.Is(err, auth.ErrInvalid) {
			t.Errorf("public key %q: %v", bad, err)
		}
	}

	if _, err := auth.NewJWT(auth.JWTConfig{Claims: auth.Claims{Issuer: "us"}}); err == nil {
		t.Error("a configuration without an audience was accepted")
	}
}
