package server_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ratchet/console"
	"ratchet/server"
)

// newConsoleProvider returns an OpenID Connect provider with one person, ann of the default tenant, who has agreed to
// every login. The refusals of logins are tried in package session.
func newConsoleProvider(t *testing.T) *httptest.Server {
	t.Helper()

	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	nonce, mux := "", http.NewServeMux()
	provider := httptest.NewServer(mux)
	t.Cleanup(provider.Close)

	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"issuer": provider.URL, "jwks_uri": provider.URL + "/keys", "authorization_endpoint": provider.URL + "/auth", "token_endpoint": provider.URL + "/token",
			"id_token_signing_alg_values_supported": []string{"EdDSA"}})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"keys": []any{map[string]string{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": "one", "x": base64.RawURLEncoding.EncodeToString(public)}}})
	})
	mux.HandleFunc("GET /auth", func(w http.ResponseWriter, r *http.Request) {
		nonce = r.FormValue("nonce")
		http.Redirect(w, r, r.FormValue("redirect_uri")+"?"+url.Values{"code": {"c-1"}, "state": {r.FormValue("state")}}.Encode(), http.StatusSeeOther)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		sign := func(audience string, more jwt.MapClaims) string {
			more["iss"], more["sub"], more["aud"], more["exp"] = provider.URL, "ann", audience, time.Now().Add(time.Hour).Unix()
			token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, more)
			token.Header["kid"] = "one"
			text, _ := token.SignedString(private) // the key is a good one

			return text
		}

		if id, secret, _ := r.BasicAuth(); id != "console" || secret != "s3cret" || r.FormValue("code") != "c-1" || r.FormValue("code_verifier") == "" {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		answer(w, map[string]any{"token_type": "Bearer", "access_token": sign("ratchet", jwt.MapClaims{"tenant": "default", "scope": "ratchet:admin"}),
			"id_token": sign("console", jwt.MapClaims{"nonce": nonce})})
	})

	return provider
}

// TestALoginAtTheIssuerOfTheSettings goes the way of a browser: to the provider and back, from where it comes as from another
// site, and to the page that it had asked for.
func TestALoginAtTheIssuerOfTheSettings(t *testing.T) {
	provider := newConsoleProvider(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	cfg := server.Config{
		Data:    filepath.Join(t.TempDir(), "data"),
		API:     server.APIConfig{Issuer: provider.URL, Audience: "ratchet"},
		Console: server.ConsoleConfig{ClientID: "console", ClientSecret: "s3cret", MaxScope: "act"},
	}
	b := initialized(t, cfg)

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.ServeAPI(ctx, listener, false) }()
	t.Cleanup(func() {
		stop()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	w := &browser{t: t, url: "http://" + listener.Addr().String(), cookies: map[string]string{}}

	follow := func(about string, answer *http.Response, status int) *url.URL {
		t.Helper()

		to, err := url.Parse(answer.Header.Get("Location"))
		if err != nil || answer.StatusCode != status {
			t.Fatalf("%s: %d to %q", about, answer.StatusCode, answer.Header.Get("Location"))
		}

		for _, c := range answer.Cookies() {
			w.cookies[c.Name] = c.Value
			if c.MaxAge < 0 {
				delete(w.cookies, c.Name)
			}
		}

		return to
	}

	answer, _ := w.send(http.MethodGet, console.Path+"/orders?state=ON_HOLD", nil) //nolint:bodyclose // the browser of the test has read and closed it
	login := follow("a page", answer, http.StatusSeeOther)

	answer, body := w.send(http.MethodGet, login.RequestURI(), nil) //nolint:bodyclose // the browser of the test has read and closed it
	follow("the login", answer, http.StatusOK)

	if !strings.Contains(body, "Log in with your organization") {
		t.Fatalf("the login has no way to the provider: %s", body)
	}

	answer, _ = w.send(http.MethodGet, console.Path+"/login/provider?"+login.RawQuery, nil) //nolint:bodyclose // the browser of the test has read and closed it
	at := follow("to the provider", answer, http.StatusSeeOther)

	atProvider := &browser{t: t, url: provider.URL, cookies: map[string]string{}}
	answer, _ = atProvider.send(http.MethodGet, at.RequestURI(), nil) //nolint:bodyclose // the browser of the test has read and closed it
	back := follow("at the provider", answer, http.StatusSeeOther)

	if back.Host != listener.Addr().String() {
		t.Fatalf("the provider sends the browser to %s", back)
	}

	w.header = map[string]string{"Sec-Fetch-Site": "cross-site"}
	answer, body = w.send(http.MethodGet, back.RequestURI(), nil) //nolint:bodyclose // the browser of the test has read and closed it
	follow("back", answer, http.StatusOK)

	if !strings.Contains(body, `http-equiv="refresh" content="0;url=/console/orders?state=ON_HOLD"`) {
		t.Errorf("the browser does not go on: %s", body)
	}

	w.header = nil
	answer, body = w.send(http.MethodGet, console.Path+"/orders?state=ON_HOLD", nil) //nolint:bodyclose // the browser of the test has read and closed it
	follow("the page", answer, http.StatusOK)

	if !strings.Contains(body, "default · act · oidc:ann") {
		t.Errorf("the page: %s", body)
	}

	// The same answer of the provider again, in a browser that still has the cookie.
	w.header = map[string]string{"Sec-Fetch-Site": "cross-site"}
	if answer, _ = w.send(http.MethodGet, back.RequestURI(), nil); answer.StatusCode != http.StatusUnauthorized || hasSession(answer) { //nolint:bodyclose // the browser of the test has read and closed it
		t.Errorf("again: %d", answer.StatusCode)
	}
}
