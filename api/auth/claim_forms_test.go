package auth_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ratchet/api/auth"
)

// claimForms are values of every kind, as JSON.
var claimForms = []string{
	`null`, `true`, `false`, `0`, `1`, `-1`, `1.5`, `1e300`, `-1e300`, `9223372036854775807`, `""`, `" "`, `"x"`, `"9999999999"`, `"\u0000"`,
	`[]`, `[null]`, `[1]`, `["x"]`, `[["x"]]`, `{}`, `{"x":1}`,
}

// TestEachFormOfAClaim: a claim of another kind never makes a token valid, both authenticators judge it alike, and an
// accepted one has the tenant and the scope that it names.
func TestEachFormOfAClaim(t *testing.T) {
	i := newIssuer(t)
	both := map[string]auth.Authenticator{"oidc": i.authenticator(t), "jwt": i.jwt(t)}

	// What the standards allow beside the usual form, or what decides nothing.
	may := map[string]func(value string) bool{
		"nbf":   func(v string) bool { return slices.Contains([]string{`0`, `1`, `-1`, `1.5`}, v) },
		"iat":   func(v string) bool { return slices.Contains([]string{`0`, `1`, `-1`, `1.5`}, v) },
		"typ":   func(v string) bool { return v != `" "` && v != `"x"` && v != `"9999999999"` && v != `"\u0000"` },
		"cnf":   func(v string) bool { return v == `null` },
		"nonce": func(v string) bool { return v == `null` },
		"sub":   func(v string) bool { return v[0] == '"' && v != `""` },
		"scp":   func(string) bool { return true }, // beside scope
		"jti":   func(string) bool { return true },
	}

	for _, name := range []string{"iss", "aud", "sub", "exp", "nbf", "iat", "tenant", "scope", "scp", "typ", "cnf", "nonce", "jti"} {
		for _, form := range claimForms {
			token := sign(t, jwt.SigningMethodRS256, i.key, i.claims(func(c jwt.MapClaims) { c[name] = json.RawMessage(form) }))

			accepted := 0
			for kind, a := range both {
				p, err := a.Authenticate(t.Context(), token)

				switch {
				case err != nil && !errors.Is(err, auth.ErrRefused):
					t.Errorf("%s: %s is %s: %v", kind, name, form, err)
				case err == nil && (may[name] == nil || !may[name](form)) && !(name == "tenant" && p.Tenant == "x"):
					t.Errorf("%s: %s is %s: accepted as %+v", kind, name, form, p)
				case err == nil && (p.Scope != auth.Act || p.Personal || name != "tenant" && p.Tenant != "acme"):
					t.Errorf("%s: %s is %s: %+v", kind, name, form, p)
				case err == nil:
					accepted++
				}
			}

			if accepted == 1 {
				t.Errorf("%s is %s: one accepts it and the other does not", name, form)
			}
		}
	}
}

// TestAHeaderNamesNoKeyOfItsOwn: a key, or the address of one, in the header of a token decides nothing.
func TestAHeaderNamesNoKeyOfItsOwn(t *testing.T) {
	i, evil := newIssuer(t), newIssuer(t)
	forged := issuer{Server: i.Server, key: evil.key}

	for what, header := range map[string]map[string]any{
		"a key":                {"jwk": map[string]string{"kty": "RSA", "n": "x", "e": "AQAB"}},
		"the address of keys":  {"jku": evil.URL + "/keys"},
		"a certificate":        {"x5c": []string{"eA=="}},
		"a certificate's URL":  {"x5u": evil.URL},
		"an unknown key":       {"kid": "two"},
		"a key that is a path": {"kid": "../../../dev/null"},
		"no key":               {"kid": ""},
	} {
		token := signAs(t, &forged, header, i.claims(nil))

		for kind, a := range map[string]auth.Authenticator{"oidc": i.authenticator(t), "jwt": i.jwt(t)} {
			if p, err := a.Authenticate(t.Context(), token); !errors.Is(err, auth.ErrRefused) {
				t.Errorf("%s: %s: %+v, %v", kind, what, p, err)
			}
		}
	}

	if n := evil.fetched.Load(); n != 0 {
		t.Errorf("%d keys were fetched from where a token said", n)
	}

	// The end of a token is exact: there is no leeway.
	for kind, a := range map[string]auth.Authenticator{"oidc": i.authenticator(t), "jwt": i.jwt(t)} {
		token := sign(t, jwt.SigningMethodRS256, i.key, i.claims(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-2 * time.Second).Unix() }))
		if _, err := a.Authenticate(t.Context(), token); !errors.Is(err, auth.ErrRefused) {
			t.Errorf("%s: two seconds after its end: %v", kind, err)
		}
	}
}
