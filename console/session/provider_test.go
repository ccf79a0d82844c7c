package session_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ratchet/api/auth"
	"ratchet/console/session"
)

// provider is an OpenID Connect provider with its endpoints, keys and codes. It checks what the standard asks of it: the
// client, the redirect address, PKCE, and that a code counts once.
type provider struct {
	*httptest.Server
	key *rsa.PrivateKey

	codes map[string]url.Values // what the browser has asked for, by code
	// change disturbs the tokens of the next code.
	change func(id, access jwt.MapClaims)
	// sign replaces the signature of the ID token.
	sign func(claims jwt.MapClaims) string
	// answer replaces the answer with the tokens.
	answer func(w http.ResponseWriter)
	// withdrawn has no key in the key set, down does not answer for it.
	withdrawn, down bool
}

// keyOf returns the key of every provider of these tests.
var keyOf = sync.OnceValue(newKey)

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}

	return key
}

func newProvider(t *testing.T) *provider {
	t.Helper()

	key := keyOf()
	p := &provider{key: key, codes: map[string]url.Values{}}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token",
			"id_token_signing_alg_values_supported": []string{"RS256", "none", "HS256"}, // a careless one
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		if p.down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}

		if p.withdrawn {
			_, _ = w.Write([]byte(`{"keys":[]}`))
			return
		}

		enc := base64.RawURLEncoding.EncodeToString
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]string{
			"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "one", "n": enc(key.N.Bytes()), "e": enc(big.NewInt(int64(key.E)).Bytes()),
		}}})
	})
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)

	return p
}

// code is the provider's page, on which the person has agreed: it returns the address that the browser goes back to.
func (p *provider) code(t *testing.T, address string) *url.URL {
	t.Helper()

	asked, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(address, p.URL+"/auth?") {
		t.Fatalf("the browser is sent to %s: %v", address, err)
	}

	q := asked.Query()
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("client_id") != "console" || q.Get("nonce") == "" || q.Get("state") == "" || q.Get("scope") != "openid ratchet:act" {
		t.Fatalf("asked for %v", q)
	}
	code := rand.Text()
	p.codes[code] = q

	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		t.Fatal(err)
	}
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.URL}}.Encode()

	return back
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	fail := func(code string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": code})
	}

	if p.answer != nil {
		p.answer(w)
		return
	}

	id, secret, _ := r.BasicAuth()
	if id == "" {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}

	if id != "console" || secret != "s3cret" {
		fail("invalid_client")
		return
	}

	asked, known := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))

	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || asked.Get("redirect_uri") != r.PostFormValue("redirect_uri") || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
		fail("invalid_grant")
		return
	}

	idClaims := jwt.MapClaims{"iss": p.URL, "sub": "ann", "aud": "console", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "nonce": asked.Get("nonce")}
	access := jwt.MapClaims{"iss": p.URL, "sub": "ann", "aud": "ratchet", "exp": time.Now().Add(30 * time.Minute).Unix(), "iat": time.Now().Unix(), "tenant": "acme", "scope": "ratchet:act"}
	if p.change != nil {
		p.change(idClaims, access)
	}

	sign := p.sign
	if sign == nil {
		sign = p.signed
	}

	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": p.signed(access), "token_type": "Bearer", "expires_in": 1800, "id_token": sign(idClaims)})
}

func (p *provider) signed(claims jwt.MapClaims) string {
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = "one"
	text, _ := token.SignedString(p.key) // the key is a good one

	return text
}

// loginAt returns a login at the provider. It takes the claims of the access token, of those of the ID token.
func loginAt(t *testing.T, p *provider, ofID bool) *session.Login {
	t.Helper()

	claims := auth.Claims{Issuer: p.URL, Audience: "ratchet"}
	at := &session.Provider{Claims: claims, ClientID: "console", ClientSecret: "s3cret", Scopes: []string{"ratchet:act"}}

	if !ofID {
		access, err := auth.NewOIDC(claims)
		if err != nil {
			t.Fatal(err)
		}
		at.Access = access
	}

	return newLogin(t, newKeys(t), func(c *session.Config) { c.Provider, c.Log = at, slog.New(slog.NewTextHandler(t.Output(), nil)) })
}

// begin begins a login, and returns the cookies of the browser and where the provider sends it back to.
func begin(t *testing.T, l *session.Login, p *provider, back string) (cookies []*http.Cookie, callback *url.URL) {
	t.Helper()

	w := httptest.NewRecorder()

	address, err := l.Begin(w, request(t, first), back)
	if err != nil {
		t.Fatal(err)
	}
	cookies = w.Result().Cookies()

	if c := cookies[0]; len(cookies) != 1 || !strings.HasPrefix(c.Name, "__Host-") || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.MaxAge > 600 {
		t.Fatalf("%v", cookies)
	}

	return cookies, p.code(t, address)
}

func finish(t *testing.T, l *session.Login, callback *url.URL, cookies ...*http.Cookie) (back string, session []*http.Cookie, err error) {
	t.Helper()

	w := httptest.NewRecorder()
	back, err = l.Finish(w, request(t, callback.String(), cookies...))

	cleared := false
	for _, c := range w.Result().Cookies() {
		cleared = cleared || c.Name == "__Host-ratchet-login" && c.MaxAge < 0

		if c.MaxAge > 0 {
			session = append(session, c)
		}
	}

	if !cleared {
		t.Error("the cookie of the login stays")
	}

	return back, session, err
}

// TestALoginAtAProvider has the tenant and the scope of the token that the setting names, and its end.
func TestALoginAtAProvider(t *testing.T) {
	p := newProvider(t)

	for _, ofID := range []bool{false, true} {
		if p.change = nil; ofID {
			p.change = func(id, access jwt.MapClaims) {
				id["tenant"], id["scope"], id["exp"] = "other", "ratchet:read", time.Now().Add(20*time.Minute).Unix()
				delete(access, "tenant")
			}
		}
		l := loginAt(t, p, ofID)
		cookies, callback := begin(t, l, p, "/console/orders/o-1")

		back, got, err := finish(t, l, callback, cookies...)
		if err != nil || back != "/console/orders/o-1" || len(got) != 1 {
			t.Fatalf("back to %q with %v: %v", back, got, err)
		}

		want, lasts := auth.Principal{ID: "oidc:ann", Tenant: "acme", Scope: auth.Act}, 30*time.Minute
		if ofID {
			want, lasts = auth.Principal{ID: "oidc:ann", Tenant: "other", Scope: auth.Read}, 20*time.Minute
		}

		by, known := l.Identify(request(t, first, got...))
		if age := time.Duration(got[0].MaxAge) * time.Second; !known || by.Principal != want || age > lasts || age < lasts-5*time.Minute {
			t.Errorf("of the ID token %t: %+v, known %t, for %s", ofID, by.Principal, known, age)
		}

		// Another issuer, or none, does not know the person.
		if _, known := newLogin(t, newKeys(t), nil).Identify(request(t, first, got...)); known {
			t.Error("a session of a provider that is not configured")
		}
	}
}

// TestALoginAtAProviderIsRefused for everything that is not this login of this browser at this provider.
func TestALoginAtAProviderIsRefused(t *testing.T) {
	type change = func(id, access jwt.MapClaims)

	for _, row := range []struct {
		about    string
		change   change
		sign     func(*provider) func(jwt.MapClaims) string
		callback func(q url.Values)
		cookies  func([]*http.Cookie) []*http.Cookie
		answer   func(http.ResponseWriter)
		ofID     bool
	}{
		{about: "another state", callback: func(q url.Values) { q.Set("state", "other") }},
		{about: "no state", callback: func(q url.Values) { q.Del("state") }},
		{about: "two states", callback: func(q url.Values) { q.Add("state", "other") }},
		{about: "no code", callback: func(q url.Values) { q.Del("code") }},
		{about: "another code", callback: func(q url.Values) { q.Set("code", "other") }},
		{about: "a refusal of the provider", callback: func(q url.Values) { q.Set("error", "access_denied") }},
		{about: "an answer of another provider", callback: func(q url.Values) { q.Set("iss", "https://evil.test") }},
		{about: "another browser", cookies: func([]*http.Cookie) []*http.Cookie { return nil }},
		{about: "two cookies", cookies: func(c []*http.Cookie) []*http.Cookie { return append(c, c[0]) }},
		{about: "a changed cookie", cookies: func(c []*http.Cookie) []*http.Cookie {
			// Another first letter, whichever it is: it stands for six bits, all of which count.
			first := map[bool]string{true: "B", false: "A"}[strings.HasPrefix(c[0].Value, "A")]

			return []*http.Cookie{{Name: c[0].Name, Value: first + c[0].Value[1:]}}
		}},
		{about: "another nonce", change: func(id, _ jwt.MapClaims) { id["nonce"] = "other" }},
		{about: "no nonce", change: func(id, _ jwt.MapClaims) { delete(id, "nonce") }},
		{about: "another audience", change: func(id, _ jwt.MapClaims) { id["aud"] = "ratchet" }},
		{about: "several audiences", change: func(id, _ jwt.MapClaims) { id["aud"] = []string{"console", "other"} }},
		{about: "another authorized party", change: func(id, _ jwt.MapClaims) { id["azp"] = "other" }},
		{about: "another issuer", change: func(id, _ jwt.MapClaims) { id["iss"] = "https://evil.test" }},
		{about: "an issuer in another case", change: func(id, _ jwt.MapClaims) { id["iss"], id["Iss"] = "https://evil.test", id["iss"] }},
		{about: "a subject in another case", change: func(id, _ jwt.MapClaims) { id["SUB"] = "bob" }},
		{about: "a nonce in another case", change: func(id, _ jwt.MapClaims) { id["nonce"], id["Nonce"] = "other", id["nonce"] }},
		{about: "an authorized party in another case", change: func(id, _ jwt.MapClaims) { id["Azp"] = "other" }},
		{about: "an extension to understand", sign: func(p *provider) func(jwt.MapClaims) string {
			return func(claims jwt.MapClaims) string {
				token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
				token.Header["kid"], token.Header["crit"], token.Header["x"] = "one", []string{"x"}, 1
				text, _ := token.SignedString(p.key)
				return text
			}
		}},
		{about: "expired", change: func(id, _ jwt.MapClaims) { id["exp"] = time.Now().Add(-time.Minute).Unix() }},
		{about: "no expiry", change: func(id, _ jwt.MapClaims) { delete(id, "exp") }},
		{about: "no subject", change: func(id, _ jwt.MapClaims) { delete(id, "sub") }, ofID: true},
		{about: "no tenant in the ID token", change: func(jwt.MapClaims, jwt.MapClaims) {}, ofID: true},
		{about: "an access token of another person", change: func(_, access jwt.MapClaims) { access["sub"] = "bob" }},
		{about: "an access token for another service", change: func(_, access jwt.MapClaims) { access["aud"] = "other" }},
		{about: "an access token that has expired", change: func(_, access jwt.MapClaims) { access["exp"] = time.Now().Add(-time.Minute).Unix() }},
		{about: "an access token without a scope", change: func(_, access jwt.MapClaims) { delete(access, "scope") }},
		{about: "algorithm none", sign: func(*provider) func(jwt.MapClaims) string {
			return func(claims jwt.MapClaims) string {
				text, _ := jwt.NewWithClaims(jwt.SigningMethodNone, claims).SignedString(jwt.UnsafeAllowNoneSignatureType)
				return text
			}
		}},
		{about: "the public key as a shared secret", sign: func(p *provider) func(jwt.MapClaims) string {
			return func(claims jwt.MapClaims) string {
				token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
				token.Header["kid"] = "one"
				text, _ := token.SignedString(p.key.N.Bytes())
				return text
			}
		}},
		{about: "another key", sign: func(*provider) func(jwt.MapClaims) string {
			return func(claims jwt.MapClaims) string {
				token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
				token.Header["kid"] = "one"
				text, _ := token.SignedString(newKey())
				return text
			}
		}},
		{about: "no ID token", answer: func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token":"x","token_type":"Bearer"}`))
		}},
	} {
		t.Run(row.about, func(t *testing.T) {
			p := newProvider(t)
			l := loginAt(t, p, row.ofID)
			p.change, p.answer = row.change, row.answer

			if row.sign != nil {
				p.sign = row.sign(p)
			}
			cookies, callback := begin(t, l, p, "")

			if row.callback != nil {
				q := callback.Query()
				row.callback(q)
				callback.RawQuery = q.Encode()
			}

			if row.cookies != nil {
				cookies = row.cookies(cookies)
			}

			if _, got, err := finish(t, l, callback, cookies...); !errors.Is(err, session.ErrRefused) || len(got) != 0 {
				t.Errorf("%v, with the cookies %v", err, got)
			}
		})
	}
}

// TestAWithdrawnKeySignsNoLogin: a key counts as long as the provider publishes it, however many logins it has signed. Keys
// that cannot be fetched are no refusal.
func TestAWithdrawnKeySignsNoLogin(t *testing.T) {
	for _, ofID := range []bool{true, false} {
		p := newProvider(t)
		p.change = func(id, _ jwt.MapClaims) { id["tenant"], id["scope"] = "acme", "ratchet:act" }
		l := loginAt(t, p, ofID)
		login := func() error {
			cookies, callback := begin(t, l, p, "")
			_, _, err := finish(t, l, callback, cookies...)

			return err
		}

		if err := login(); err != nil {
			t.Fatal(err)
		}

		p.down = true

		if err := login(); err == nil || errors.Is(err, session.ErrRefused) {
			t.Errorf("claims of the ID token %v, keys that cannot be fetched: %v", ofID, err)
		}

		p.down, p.withdrawn = false, true

		if err := login(); !errors.Is(err, session.ErrRefused) {
			t.Errorf("claims of the ID token %v, a withdrawn key: %v", ofID, err)
		}
	}
}

// TestALoginCountsOnce: neither the answer of the provider nor its code counts again, whatever cookies there are.
func TestALoginCountsOnce(t *testing.T) {
	p := newProvider(t)
	l := loginAt(t, p, false)
	cookies, callback := begin(t, l, p, "")

	if _, _, err := finish(t, l, callback, cookies...); err != nil {
		t.Fatal(err)
	}

	if _, got, err := finish(t, l, callback, cookies...); !errors.Is(err, session.ErrRefused) || len(got) != 0 {
		t.Errorf("the same answer again: %v", err)
	}

	// Another process has not seen it; the provider has.
	if _, got, err := finish(t, loginAt(t, p, false), callback, cookies...); !errors.Is(err, session.ErrRefused) || len(got) != 0 {
		t.Errorf("the same answer at another process: %v", err)
	}

	// A stolen code in a login of the thief's own.
	_, stolen := begin(t, l, p, "")
	mine, own := begin(t, l, p, "")
	q := own.Query()
	q.Set("code", stolen.Query().Get("code"))
	own.RawQuery = q.Encode()

	if _, got, err := finish(t, l, own, mine...); !errors.Is(err, session.ErrRefused) || len(got) != 0 {
		t.Errorf("a stolen code: %v", err)
	}
}

// TestAnAnswerOfTheProviderIsNotRepeated: the log says why a login failed, and the provider may repeat the secret.
func TestAnAnswerOfTheProviderIsNotRepeated(t *testing.T) {
	for status, want := range map[int]string{http.StatusInternalServerError: "answered 500", http.StatusBadRequest: "refuses the code"} {
		p := newProvider(t)
		l := loginAt(t, p, false)
		cookies, callback := begin(t, l, p, "")
		p.answer = func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":"bad s3cret","error_description":"not s3cret"}`)
		}

		if _, _, err := finish(t, l, callback, cookies...); err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// TestAProviderThatDoesNotAnswer is no refusal: the person tries again.
func TestAProviderThatDoesNotAnswer(t *testing.T) {
	p := newProvider(t)
	l := loginAt(t, p, false)
	cookies, callback := begin(t, l, p, "")
	p.answer = func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }

	if _, got, err := finish(t, l, callback, cookies...); err == nil || errors.Is(err, session.ErrRefused) || len(got) != 0 {
		t.Errorf("%v", err)
	}

	gone := newProvider(t)
	gone.Close()

	if _, err := loginAt(t, gone, false).Begin(httptest.NewRecorder(), request(t, first), ""); err == nil || errors.Is(err, session.ErrRefused) {
		t.Errorf("%v", err)
	}
}
