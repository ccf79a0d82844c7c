package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"ratchet/api/auth"
	"ratchet/embedded/embeddedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newKeys(t *testing.T, cache time.Duration) (*auth.Keys, *dynamodb.Client, *embeddedtest.Clock) {
	t.Helper()

	db, c := embeddedtest.DynamoDB(t, auth.TableInput("keys")), &embeddedtest.Clock{}
	keys, err := auth.NewKeys(auth.KeysConfig{DynamoDB: db, Table: "keys", Cache: cache, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}

	return keys, db, c
}

func create(t *testing.T, keys *auth.Keys, n auth.NewKey) (auth.Key, auth.Token) {
	t.Helper()

	key, token, err := keys.Create(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}

	return key, token
}

var shop = auth.NewKey{Name: "shop", Tenant: "acme", Scope: auth.Act}

func TestAKeyOpensItsTenantWithItsScope(t *testing.T) {
	keys, _, _ := newKeys(t, 0)
	key, token := create(t, keys, shop)
	p, err := keys.Authenticate(t.Context(), string(token))
	if err != nil || p != (auth.Principal{ID: "key:" + key.ID, Tenant: "acme", Scope: auth.Act}) {
		t.Fatalf("%+v, %v", p, err)
	}

	if !p.May(auth.Read) || !p.May(auth.Act) || p.May(auth.Admin) || p.May("") {
		t.Error("act includes read and nothing else")
	}
}

func TestWhatIsNoKeyIsRefused(t *testing.T) {
	keys, _, _ := newKeys(t, 0)

	_, token := create(t, keys, shop)
	_, other := create(t, keys, shop)
	text := string(token)
	for name, bad := range map[string]string{
		"nothing": "", "a word": "secret", "only the public part": text[:20],
		"one character changed":      text[:30] + flip(text[30]) + text[31:],
		"another key's secret":       text[:20] + string(other)[20:],
		"an id that was never made":  "rk_" + strings.Repeat("a", 16) + text[19:],
		"something behind it":        text + "A",
		"capital letters in the id":  strings.ToUpper(text[:19]) + text[19:],
		"the key of a shared secret": "rk_secret#cursor_" + text[20:],
		"a megabyte":                 strings.Repeat("a", 1<<20),
	} {
		if _, err := keys.Authenticate(t.Context(), bad); !errors.Is(err, auth.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func flip(b byte) string {
	if b == 'A' {
		return "B"
	}
	return "A"
}

func TestARevokedKeyIsRefusedWhenTheCacheForgets(t *testing.T) {
	keys, _, c := newKeys(t, 10*time.Second)
	key, token := create(t, keys, shop)
	if _, err := keys.Authenticate(t.Context(), string(token)); err != nil {
		t.Fatal(err)
	}

	for range 2 { // revoking twice is revoking once
		if err := keys.Revoke(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
	}
	c.Advance(10 * time.Second)

	if _, err := keys.Authenticate(t.Context(), string(token)); !errors.Is(err, auth.ErrRefused) {
		t.Errorf("after the cache's time: %v", err)
	}

	if err := keys.Revoke(t.Context(), "unknown"); !errors.Is(err, auth.ErrNoKey) {
		t.Errorf("revoke an unknown key: %v", err)
	}
}

func TestAKeyEndsAtItsExpiryEvenFromTheCache(t *testing.T) {
	keys, _, c := newKeys(t, time.Hour)
	n := shop
	n.Expires = c.Now().Add(time.Minute)
	_, token := create(t, keys, n)
	c.Advance(time.Minute - time.Millisecond)

	if _, err := keys.Authenticate(t.Context(), string(token)); err != nil {
		t.Errorf("a moment before: %v", err)
	}
	c.Advance(time.Millisecond)

	if _, err := keys.Authenticate(t.Context(), string(token)); !errors.Is(err, auth.ErrRefused) {
		t.Errorf("at its expiry: %v", err)
	}
}

func TestRotationGivesTheOldKeyItsEnd(t *testing.T) {
	keys, _, c := newKeys(t, -1)
	old, oldToken := create(t, keys, shop)
	c.Advance(time.Second)

	fresh, token, err := keys.Rotate(t.Context(), old.ID, time.Hour, time.Time{})
	if err != nil {
		t.Fatal(err)
	}

	if fresh.Tenant != old.Tenant || fresh.Scope != old.Scope || fresh.Name != old.Name || fresh.ID == old.ID {
		t.Errorf("the new key is %+v", fresh)
	}

	for _, tok := range []auth.Token{oldToken, token} {
		if _, err := keys.Authenticate(t.Context(), string(tok)); err != nil {
			t.Errorf("%s within the grace: %v", tok, err)
		}
	}

	if _, _, err := keys.Rotate(t.Context(), old.ID, 0, time.Time{}); !errors.Is(err, auth.ErrEnded) {
		t.Errorf("rotating twice: %v", err)
	}
	c.Advance(time.Hour)

	if _, err := keys.Authenticate(t.Context(), string(oldToken)); !errors.Is(err, auth.ErrRefused) {
		t.Errorf("the old key after the grace: %v", err)
	}

	list, err := keys.List(t.Context())
	if err != nil || len(list) != 2 || list[0].ReplacedBy != fresh.ID || list[0].Live(c.Now()) || !list[1].Live(c.Now()) {
		t.Errorf("the list: %+v, %v", list, err)
	}
}

func TestRotationNeverProlongsAKey(t *testing.T) {
	keys, _, c := newKeys(t, -1)
	n := shop
	n.Expires = c.Now().Add(time.Minute)

	old, _ := create(t, keys, n)
	if _, _, err := keys.Rotate(t.Context(), old.ID, time.Hour, time.Time{}); err != nil {
		t.Fatal(err)
	}

	list, err := keys.List(t.Context())
	if err != nil || !list[0].ExpiresAt.Equal(n.Expires) && !list[1].ExpiresAt.Equal(n.Expires) {
		t.Errorf("%+v, %v", list, err)
	}

	if _, _, err := keys.Rotate(t.Context(), "unknown", 0, time.Time{}); !errors.Is(err, auth.ErrNoKey) {
		t.Errorf("an unknown key: %v", err)
	}

	revoked, _ := create(t, keys, shop)
	if err := keys.Revoke(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}

	if _, _, err := keys.Rotate(t.Context(), revoked.ID, 0, time.Time{}); !errors.Is(err, auth.ErrEnded) {
		t.Errorf("a revoked key: %v", err)
	}
}

func TestTheTableHoldsNoKey(t *testing.T) {
	keys, db, _ := newKeys(t, 0)
	_, token := create(t, keys, shop)
	if _, err := keys.Secret(t.Context(), "cursor"); err != nil {
		t.Fatal(err)
	}

	out, err := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("keys")})
	if err != nil {
		t.Fatal(err)
	}

	text, err := json.Marshal(out.Items)
	if err != nil || strings.Contains(string(text), string(token)[20:]) {
		t.Errorf("the secret part is in the table (%v)", err)
	}

	if list, err := keys.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("a shared secret is listed as a key: %v, %v", list, err)
	}

	if printed := fmt.Sprintf("%v %+v %#v %s", token, token, token, token); strings.Contains(printed, string(token)[20:]) {
		t.Error("a token prints its secret")
	}
}

func TestAllInstancesShareASecret(t *testing.T) {
	keys, _, _ := newKeys(t, 0)

	one, err1 := keys.Secret(t.Context(), "cursor")
	two, err2 := keys.Secret(t.Context(), "cursor")
	other, err3 := keys.Secret(t.Context(), "other")
	if err := errors.Join(err1, err2, err3); err != nil || string(one) != string(two) || string(one) == string(other) || len(one) != 32 {
		t.Errorf("%x, %x, %x, %v", one, two, other, err)
	}
}

func TestWhatANewKeyMustKeepTo(t *testing.T) {
	keys, _, c := newKeys(t, 0)
	for _, n := range []auth.NewKey{
		{Tenant: "acme", Scope: auth.Read}, {Name: "n\n", Tenant: "acme", Scope: auth.Read}, {Name: "n", Scope: auth.Read},
		{Name: "n", Tenant: "Acme", Scope: auth.Read}, {Name: "n", Tenant: "a:b", Scope: auth.Read}, {Name: "n", Tenant: "acme", Scope: "root"},
		{Name: "n", Tenant: "acme", Scope: auth.Read, Expires: c.Now()},
	} {
		if _, _, err := keys.Create(t.Context(), n); !errors.Is(err, auth.ErrInvalid) {
			t.Errorf("%+v: %v", n, err)
		}
	}
}

func TestAnyAsksOneAfterTheOther(t *testing.T) {
	a, _, _ := newKeys(t, 0)
	b, _, _ := newKeys(t, 0)
	_, token := create(t, b, shop)
	if p, err := (auth.Any{a, b}).Authenticate(t.Context(), string(token)); err != nil || p.Tenant != "acme" {
		t.Errorf("%+v, %v", p, err)
	}

	if _, err := (auth.Any{a}).Authenticate(t.Context(), string(token)); !errors.Is(err, auth.ErrRefused) {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()

	if _, err := (auth.Any{a, b}).Authenticate(ended, string(token)); err == nil || errors.Is(err, auth.ErrRefused) {
		t.Errorf("who cannot tell does not refuse: %v", err)
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("rk_" + strings.Repeat("a", 16) + "_" + strings.Repeat("A", 43))
	f.Add("rk__")
	f.Fuzz(func(t *testing.T, text string) {
		printed := auth.Token(text).String()
		if strings.Contains(text, printed) && len(printed) > 20 {
			t.Errorf("%q prints as %q", text, printed)
		}
	})
}
