package auth_test

import (
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ratchet/api/auth"
)

// The grant for personal data stands beside the scopes: no scope includes it, and a rotation keeps it.
func TestTheGrantForPersonalDataBelongsToTheKey(t *testing.T) {
	keys, _ := newKeys(t)

	for _, personal := range []bool{true, false} {
		for _, scope := range []auth.Scope{auth.Read, auth.Act, auth.Admin} {
			key, token := create(t, keys, auth.NewKey{Name: "n", Tenant: "acme", Scope: scope, Personal: personal})

			if p, err := keys.Authenticate(t.Context(), string(token)); err != nil || p.Personal != personal || key.Personal != personal {
				t.Errorf("%s, created with %t: key %t, principal %t, %v", scope, personal, key.Personal, p.Personal, err)
			}

			next, token, err := keys.Rotate(t.Context(), key.ID, time.Hour, time.Time{})
			if err != nil {
				t.Fatal(err)
			}

			if p, err := keys.Authenticate(t.Context(), string(token)); err != nil || p.Personal != personal || next.Personal != personal {
				t.Errorf("%s, rotated with %t: key %t, principal %t, %v", scope, personal, next.Personal, p.Personal, err)
			}
		}
	}

	all, err := keys.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	granted := 0
	for _, key := range all {
		if key.Personal {
			granted++
		}
	}

	if granted != 6 || len(all) != 12 {
		t.Errorf("%d of %d keys have the grant, want 6 of 12", granted, len(all))
	}
}

func TestATokenGrantsSightOfPersonalDataBesideItsScope(t *testing.T) {
	i := newIssuer(t)

	for _, row := range []struct {
		scopes   any
		scope    auth.Scope // "" for a token that is refused
		personal bool
	}{
		{"ratchet:read", auth.Read, false},
		{"ratchet:admin", auth.Admin, false},
		{"ratchet:read ratchet:personal", auth.Read, true},
		{[]string{"ratchet:personal", "ratchet:admin"}, auth.Admin, true},
		{"ratchet:act personal", auth.Act, false},
		{"ratchet:act other:personal", auth.Act, false},
		{"ratchet:act ratchet:personal2", auth.Act, false},
		{"ratchet:personal", "", false},
	} {
		token := sign(t, jwt.SigningMethodRS256, i.key, i.claims(func(c jwt.MapClaims) { c["scope"] = row.scopes }))

		p, err := i.authenticator(t).Authenticate(t.Context(), token)
		if p.Scope != row.scope || p.Personal != row.personal || (err != nil) != (row.scope == "") {
			t.Errorf("%v: scope %q, personal %t, %v", row.scopes, p.Scope, p.Personal, err)
		}
	}
}
