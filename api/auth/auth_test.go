package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"ratchet/api/auth"
	"ratchet/embedded/embeddedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newKeys returns the keys of a new table, and its client.
func newKeys(t *testing.T) (*auth.Keys, *dynamodb.Client) {
	t.Helper()

	db := embeddedtest.DynamoDB(t, auth.TableInput("keys"))

	keys, err := auth.NewKeys(auth.KeysConfig{DynamoDB: db, Table: "keys"})
	if err != nil {
		t.Fatal(err)
	}

	return keys, db
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

func TestAKeyAuthenticatesItsTenantWithItsScope(t *testing.T) {
	keys, _ := newKeys(t)
	key, token := create(t, keys, shop)
	p, err := keys.Authenticate(t.Context(), string(token))
	if err != nil || p != (auth.Principal{ID: "key:" + key.ID, Tenant: "acme", Scope: auth.Act}) {
		t.Fatalf("principal %+v, %v", p, err)
	}

	if !p.May(auth.Read) || !p.May(auth.Act) || p.May(auth.Admin) || p.May("") {
		t.Error("scope act must include read and act, and nothing else")
	}
}

func TestMalformedAndUnknownKeysAreRefused(t *testing.T) {
	keys, _ := newKeys(t)

	_, token := create(t, keys, shop)
	_, other := create(t, keys, shop)
	text := string(token)
	for name, bad := range map[string]string{
		"an empty token":                     "",
		"a word":                             "secret",
		"only the public part":               text[:20],
		"one character changed":              text[:30] + flip(text[30]) + text[31:],
		"the secret of another key":          text[:20] + string(other)[20:],
		"an id that does not exist":          "rk_" + strings.Repeat("a", 16) + text[19:],
		"an extra character at the end":      text + "A",
		"capital letters in the id":          strings.ToUpper(text[:19]) + text[19:],
		"the id of a shared secret's record": "rk_secret#cursor_" + text[20:],
		"a megabyte":                         strings.Repeat("a", 1<<20),
	} {
		if _, err := keys.Authenticate(t.Context(), bad); !errors.Is(err, auth.ErrRefused) {
			t.Errorf("%s: got %v, want ErrRefused", name, err)
		}
	}
}

// flip returns another base64url character than b.
func flip(b byte) string {
	if b == 'A' {
		return "B"
	}
	return "A"
}

func TestARevokedKeyIsRefusedOnceItsCacheEntryExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, _ := newKeys(t)
		key, token := create(t, keys, shop)
		if _, err := keys.Authenticate(t.Context(), string(token)); err != nil {
			t.Fatal(err)
		}

		for range 2 { // the second call changes nothing
			if err := keys.Revoke(t.Context(), key.ID); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)

		if _, err := keys.Authenticate(t.Context(), string(token)); !errors.Is(err, auth.ErrRefused) {
			t.Errorf("after the cache entry expired: %v", err)
		}

		if err := keys.Revoke(t.Context(), "unknown"); !errors.Is(err, auth.ErrNoKey) {
			t.Errorf("revoking an unknown key: %v", err)
		}
	})
}

func TestACachedKeyIsRefusedAtItsExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, _ := newKeys(t)
		n := shop
		n.Expires = time.Now().Add(4 * time.Second)
		_, token := create(t, keys, n)
		time.Sleep(4*time.Second - time.Millisecond)

		if _, err := keys.Authenticate(t.Context(), string(token)); err != nil {
			t.Errorf("one millisecond before its expiry: %v", err)
		}
		time.Sleep(time.Millisecond)

		if _, err := keys.Authenticate(t.Context(), string(token)); !errors.Is(err, auth.ErrRefused) {
			t.Errorf("at its expiry: %v", err)
		}
	})
}

func TestRotationEndsTheOldKeyAfterTheGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, _ := newKeys(t)
		old, oldToken := create(t, keys, shop)
		time.Sleep(time.Second)

		replacement, token, err := keys.Rotate(t.Context(), old.ID, time.Hour, time.Time{})
		if err != nil {
			t.Fatal(err)
		}

		if replacement.Tenant != old.Tenant || replacement.Scope != old.Scope || replacement.Name != old.Name || replacement.ID == old.ID {
			t.Errorf("the new key is %+v", replacement)
		}

		for _, tok := range []auth.Token{oldToken, token} {
			if _, err := keys.Authenticate(t.Context(), string(tok)); err != nil {
				t.Errorf("%s within the grace period: %v", tok, err)
			}
		}

		if _, _, err := keys.Rotate(t.Context(), old.ID, 0, time.Time{}); !errors.Is(err, auth.ErrEnded) {
			t.Errorf("rotating a key twice: %v", err)
		}
		time.Sleep(time.Hour)

		if _, err := keys.Authenticate(t.Context(), string(oldToken)); !errors.Is(err, auth.ErrRefused) {
			t.Errorf("the old key after the grace period: %v", err)
		}

		list, err := keys.List(t.Context())
		if err != nil || len(list) != 2 || list[0].ReplacedBy != replacement.ID || list[0].Live(time.Now()) || !list[1].Live(time.Now()) {
			t.Errorf("listed keys: %+v, %v", list, err)
		}
	})
}

func TestRotationNeverExtendsAKey(t *testing.T) {
	keys, _ := newKeys(t)
	n := shop
	n.Expires = time.Now().Add(time.Minute).Truncate(time.Millisecond) // as it is stored

	old, _ := create(t, keys, n)
	if _, _, err := keys.Rotate(t.Context(), old.ID, time.Hour, time.Time{}); err != nil {
		t.Fatal(err)
	}

	list, err := keys.List(t.Context())
	if err != nil || !list[0].ExpiresAt.Equal(n.Expires) && !list[1].ExpiresAt.Equal(n.Expires) {
		t.Errorf("listed keys: %+v, %v", list, err)
	}

	if _, _, err := keys.Rotate(t.Context(), "unknown", 0, time.Time{}); !errors.Is(err, auth.ErrNoKey) {
		t.Errorf("rotating an unknown key: %v", err)
	}

	revoked, _ := create(t, keys, shop)
	if err := keys.Revoke(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}

	if _, _, err := keys.Rotate(t.Context(), revoked.ID, 0, time.Time{}); !errors.Is(err, auth.ErrEnded) {
		t.Errorf("rotating a revoked key: %v", err)
	}
}

func TestTheTableDoesNotContainTheSecretOfAKey(t *testing.T) {
	keys, db := newKeys(t)
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
		t.Errorf("the table contains the secret part of a token (%v)", err)
	}

	if list, err := keys.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("a shared secret is listed as a key: %v, %v", list, err)
	}

	if printed := fmt.Sprintf("%v %+v %#v %s", token, token, token, token); strings.Contains(printed, string(token)[20:]) {
		t.Error("a token prints its secret")
	}
}

func TestASecretIsTheSameForEveryCaller(t *testing.T) {
	keys, _ := newKeys(t)

	first, err1 := keys.Secret(t.Context(), "cursor")
	second, err2 := keys.Secret(t.Context(), "cursor")
	other, err3 := keys.Secret(t.Context(), "other")
	if err := errors.Join(err1, err2, err3); err != nil || string(first) != string(second) || string(first) == string(other) || len(first) != 32 {
		t.Errorf("secrets %x, %x and %x, %v", first, second, other, err)
	}
}

func TestAnInvalidNewKeyIsRefused(t *testing.T) {
	keys, _ := newKeys(t)
	for name, n := range map[string]auth.NewKey{
		"no name":                       {Tenant: "acme", Scope: auth.Read},
		"a control character in a name": {Name: "n\n", Tenant: "acme", Scope: auth.Read},
		"no tenant":                     {Name: "n", Scope: auth.Read},
		"a capital letter in a tenant":  {Name: "n", Tenant: "Acme", Scope: auth.Read},
		"the owner of the shop's money": {Name: "n", Tenant: "orders", Scope: auth.Read},
		"a colon in a tenant":           {Name: "n", Tenant: "a:b", Scope: auth.Read},
		"an unknown scope":              {Name: "n", Tenant: "acme", Scope: "root"},
		"an expiry that is not later":   {Name: "n", Tenant: "acme", Scope: auth.Read, Expires: time.Now()},
	} {
		if _, _, err := keys.Create(t.Context(), n); !errors.Is(err, auth.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}

func TestAnyReturnsTheFirstAnswerThatIsNotARefusal(t *testing.T) {
	first, _ := newKeys(t)
	second, _ := newKeys(t)
	_, token := create(t, second, shop)
	if p, err := (auth.Any{first, second}).Authenticate(t.Context(), string(token)); err != nil || p.Tenant != "acme" {
		t.Errorf("a key that only the second knows: %+v, %v", p, err)
	}

	if _, err := (auth.Any{first}).Authenticate(t.Context(), string(token)); !errors.Is(err, auth.ErrRefused) {
		t.Errorf("a key that none knows: %v", err)
	}

	canceled, cancel := context.WithCancel(t.Context())
	cancel()

	if _, err := (auth.Any{first, second}).Authenticate(canceled, string(token)); err == nil || errors.Is(err, auth.ErrRefused) {
		t.Errorf("an authenticator that could not check the token: %v", err)
	}
}

// FuzzTokens checks that no token prints as text that contains its secret.
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

// TestOnlyTokensOfTheRightFormAreSplit compares the parser with the rule as a regular
// expression, on tokens with one byte changed, added or left out.
func TestOnlyTokensOfTheRightFormAreSplit(t *testing.T) {
	rule := regexp.MustCompile(`^rk_[a-z2-7]{16}_[A-Za-z0-9_-]{43}$`)
	good := "rk_abcdefghyz234567_" + strings.Repeat("AZaz09_-", 6)[:43]

	check := func(token string) {
		t.Helper()

		if valid := auth.Token(token).String() != "[malformed api key]"; valid != rule.MatchString(token) {
			t.Errorf("%q: valid %v", token, valid)
		}
	}
	check(good)

	for i := range good {
		check(good[:i] + good[i+1:])
		check(good[:i] + "a" + good[i:])

		for b := range 256 {
			check(good[:i] + string([]byte{byte(b)}) + good[i+1:])
		}
	}
}
