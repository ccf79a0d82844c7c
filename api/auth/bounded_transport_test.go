package auth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"ratchet/api/auth"
)

// TestAnIssuerMayAnswerAnything: an error with a page of megabytes is not repeated, and an answer without an end is not
// read. Neither is the fault of the token.
func TestAnIssuerMayAnswerAnything(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(strings.Repeat(" ", 64<<10))); err != nil {
				return
			}
		}
	}
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte(strings.Repeat("marked ", 300_000)))
	}
	i := newIssuer(t)

	for name, handler := range map[string]http.HandlerFunc{"a page": page, "no end": endless} {
		for _, of := range []string{"/.well-known/openid-configuration", "/keys"} {
			mux := http.NewServeMux()
			far := httptest.NewServer(mux)
			defer far.Close()

			mux.HandleFunc(of, handler)

			if of == "/keys" {
				mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
					_, _ = w.Write([]byte(`{"issuer":"` + far.URL + `","jwks_uri":"` + far.URL + `/keys"}`))
				})
			}

			o, err := auth.NewOIDC(auth.Claims{Issuer: far.URL, Audience: "ratchet"})
			if err != nil {
				t.Fatal(err)
			}

			token := sign(t, jwt.SigningMethodRS256, i.key, i.claims(func(c jwt.MapClaims) { c["iss"] = far.URL }))

			_, err = o.Authenticate(t.Context(), token)
			if err == nil || errors.Is(err, auth.ErrRefused) || len(err.Error()) > 500 || strings.Contains(err.Error(), "marked") {
				t.Errorf("%s of %s: %.500v", name, of, err)
			}
		}
	}
}
