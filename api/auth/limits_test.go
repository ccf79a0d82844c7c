package auth_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"ratchet/api/auth"
)

// A valid token is refused from 8 KiB on, and a valid subject from 255 bytes on.
func TestTokensAndSubjectsAreBounded(t *testing.T) {
	i := newIssuer(t)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})

	j, err := auth.NewJWT(auth.JWTConfig{Claims: auth.Claims{Issuer: i.URL, Audience: "ratchet"}, PublicKey: key})
	if err != nil {
		t.Fatal(err)
	}

	for kind, row := range map[string]struct {
		auth.Authenticator
		sign func(jwt.MapClaims) string
	}{
		"jwt":  {j, func(c jwt.MapClaims) string { return sign(t, jwt.SigningMethodEdDSA, private, c) }},
		"oidc": {i.authenticator(t), func(c jwt.MapClaims) string { return sign(t, jwt.SigningMethodRS256, i.key, c) }},
	} {
		check := func(about, token string, valid bool) {
			t.Helper()

			if _, err := row.Authenticate(t.Context(), token); valid != (err == nil) || !valid && !errors.Is(err, auth.ErrRefused) {
				t.Errorf("%s, %s of %d bytes: %v", kind, about, len(token), err)
			}
		}

		for length, valid := range map[int]bool{255: true, 256: false} {
			check("a subject", row.sign(i.claims(func(c jwt.MapClaims) { c["sub"] = strings.Repeat("s", length) })), valid)
		}

		// The longest token up to the length: base64 leaves one length of four out.
		padded := func(length int) string {
			for pad := length * 3 / 4; ; pad-- {
				if token := row.sign(i.claims(func(c jwt.MapClaims) { c["pad"] = strings.Repeat("x", pad) })); len(token) <= length {
					return token
				}
			}
		}
		check("a large token", padded(8<<10), true)
		check("a token that is too large", padded(9<<10), false)
	}

	for name, claims := range map[string]auth.Claims{"issuer": {Audience: "ratchet"}, "audience": {Issuer: i.URL}} {
		_, one := auth.NewJWT(auth.JWTConfig{Claims: claims, PublicKey: key})
		_, two := auth.NewOIDC(t.Context(), claims)

		for _, err := range []error{one, two} {
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), name) {
				t.Errorf("without %s: %v", name, err)
			}
		}
	}
}

// The issuer must answer when the server starts.
func TestTheIssuerMustAnswerAtTheStart(t *testing.T) {
	i := newIssuer(t)

	o, err := auth.NewOIDC(t.Context(), auth.Claims{Issuer: i.URL, Audience: "ratchet"})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := o.Authenticate(t.Context(), sign(t, jwt.SigningMethodRS256, i.key, i.claims(nil))); err != nil {
		t.Error(err)
	}

	down := httptest.NewServer(http.NotFoundHandler())
	defer down.Close()

	if _, err := auth.NewOIDC(t.Context(), auth.Claims{Issuer: down.URL, Audience: "ratchet"}); err == nil || !strings.Contains(err.Error(), down.URL) {
		t.Errorf("an issuer without a configuration: %v", err)
	}
}

// A client of an issuer whose connection fails learns the failure.
func TestAnIssuerThatIsGoneIsAnError(t *testing.T) {
	i := newIssuer(t)
	o := i.authenticator(t)
	token := sign(t, jwt.SigningMethodRS256, i.key, i.claims(nil))
	i.Close()

	if _, err := o.Authenticate(t.Context(), token); err == nil || errors.Is(err, auth.ErrRefused) || !strings.Contains(err.Error(), "keys of issuer") {
		t.Error(err)
	}
}
