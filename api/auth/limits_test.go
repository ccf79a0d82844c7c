package auth_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		_, two := auth.NewOIDC(claims)

		for _, err := range []error{one, two} {
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), name) {
				t.Errorf("without %s: %v", name, err)
			}
		}
	}
}

// TestAnIssuerMayAnswerLater: a server starts without its issuer. Its tokens are not refused but cannot be checked, until
// the issuer answers.
func TestAnIssuerMayAnswerLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, client := newPipedIssuer(t)
		i.hidden.Store(true)

		o, err := auth.NewOIDCWith(auth.Claims{Issuer: i.URL, Audience: "ratchet"}, client)
		if err != nil {
			t.Fatal(err)
		}

		token := sign(t, jwt.SigningMethodRS256, i.key, i.claims(nil))
		for range 3 {
			if _, err := o.Authenticate(t.Context(), token); err == nil || errors.Is(err, auth.ErrRefused) || !strings.Contains(err.Error(), i.URL) {
				t.Errorf("without the issuer: %v", err)
			}
		}

		if o.Ready() == nil {
			t.Error("it is ready without its issuer")
		}

		ran := make(chan error)
		go func() { ran <- o.Run(t.Context()) }()
		time.Sleep(time.Minute)
		i.hidden.Store(false)

		if err := errors.Join(<-ran, o.Ready()); err != nil {
			t.Errorf("with the issuer: %v", err)
		}

		if _, err := o.Authenticate(t.Context(), token); err != nil {
			t.Error(err)
		}
	})
}

// TestAWithdrawnKeyIsRefused: some minutes after the issuer has withdrawn a key, no one has to ask for another one first.
// If the issuer does not answer, its keys count a while longer.
func TestAWithdrawnKeyIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, client := newPipedIssuer(t)

		o, err := auth.NewOIDCWith(auth.Claims{Issuer: i.URL, Audience: "ratchet"}, client)
		if err != nil {
			t.Fatal(err)
		}

		token := sign(t, jwt.SigningMethodRS256, i.key, i.claims(nil))
		is := func(what string, want func(error) bool) {
			t.Helper()

			if _, err := o.Authenticate(t.Context(), token); !want(err) {
				t.Errorf("%s: %v", what, err)
			}
		}
		accepted := func(err error) bool { return err == nil }
		refused := func(err error) bool { return errors.Is(err, auth.ErrRefused) }
		unchecked := func(err error) bool { return err != nil && !errors.Is(err, auth.ErrRefused) }

		is("a key of the issuer", accepted)

		i.down.Store(true)
		time.Sleep(10 * time.Minute)
		is("ten minutes without the issuer", accepted)
		time.Sleep(10 * time.Minute)
		is("twenty minutes without the issuer", unchecked)

		i.down.Store(false)
		time.Sleep(time.Minute)
		is("the issuer answers again", accepted)

		i.withdrawn.Store(true)
		is("withdrawn a moment ago", accepted)
		time.Sleep(6 * time.Minute)
		is("withdrawn for minutes", refused)

		i.withdrawn.Store(false)
		i.cacheControl.Store("public, max-age=30")
		time.Sleep(6 * time.Minute)
		is("it is there again", accepted)
		i.withdrawn.Store(true)
		time.Sleep(40 * time.Second)
		is("withdrawn, and the issuer lets its keys be kept for 30 s", refused)
	})
}

// A client of an issuer whose connection fails learns the failure.
func TestAnIssuerThatIsGoneIsAnError(t *testing.T) {
	i := newIssuer(t)
	o := i.authenticator(t)
	token := sign(t, jwt.SigningMethodRS256, i.key, i.claims(nil))
	i.Close()

	if _, err := o.Authenticate(t.Context(), token); err == nil || errors.Is(err, auth.ErrRefused) || !strings.Contains(err.Error(), "issuer") {
		t.Error(err)
	}
}
