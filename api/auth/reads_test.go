package auth_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/api/auth"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
)

// openKeys returns keys whose calls the test can count and disturb.
func openKeys(t *testing.T) (*auth.Keys, *embeddedtest.Transport, *dynamodb.Client) {
	t.Helper()

	cfg := embeddedtest.Open(t).AWSConfig()
	transport := embeddedtest.Intercept(&cfg)
	db := dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, db, auth.TableInput("keys"))

	keys, err := auth.NewKeys(auth.KeysConfig{DynamoDB: db, Table: "keys"})
	if err != nil {
		t.Fatal(err)
	}

	return keys, transport, db
}

// A key is read again after 5 s.
func TestAKeyIsReadOnceInTheTimeOfTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, transport, _ := openKeys(t)
		_, token := create(t, keys, shop)

		for _, step := range []struct {
			wait  time.Duration
			reads int // in all
		}{
			{0, 1},
			{0, 1},
			{4999 * time.Millisecond, 1},
			{time.Millisecond, 2},
			{time.Millisecond, 2},
			{time.Minute, 3},
		} {
			time.Sleep(step.wait)

			if _, err := keys.Authenticate(t.Context(), string(token)); err != nil || transport.Count("GetItem") != step.reads {
				t.Errorf("%v later: %d reads, %v, want %d", step.wait, transport.Count("GetItem"), err, step.reads)
			}
		}
	})
}

// What DynamoDB does not answer is an error, and neither a refusal nor a success.
func TestFailuresOfDynamoDBAreErrors(t *testing.T) {
	keys, transport, _ := openKeys(t)
	key, token := create(t, keys, shop)
	transport.Inject(embeddedtest.Answer("AccessDeniedException", "GetItem", "PutItem", "UpdateItem", "Scan", "TransactWriteItems"))

	failures := map[string]func() error{
		"create": func() error { _, _, err := keys.Create(t.Context(), shop); return err },
		"list":   func() error { _, err := keys.List(t.Context()); return err },
		"revoke": func() error { return keys.Revoke(t.Context(), key.ID) },
		"rotate": func() error { _, _, err := keys.Rotate(t.Context(), key.ID, 0, time.Time{}); return err },
		"secret": func() error { _, err := keys.Secret(t.Context(), "cursor"); return err },
		"check":  func() error { _, err := keys.Authenticate(t.Context(), string(token)); return err },
	}
	for name, call := range failures {
		if err := call(); err == nil || !strings.Contains(err.Error(), "AccessDenied") || errors.Is(err, auth.ErrRefused) || errors.Is(err, auth.ErrNoKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The answer to a write is lost, and the SDK sends it again.
func TestALostAnswerMakesOneKey(t *testing.T) {
	keys, transport, _ := openKeys(t)
	transport.Inject(embeddedtest.LoseAnswer("PutItem").Next(1))
	key, token := create(t, keys, shop)

	if _, err := keys.Authenticate(t.Context(), string(token)); err != nil {
		t.Error(err)
	}
	transport.Inject(embeddedtest.LoseAnswer("TransactWriteItems").Next(1))

	if _, _, err := keys.Rotate(t.Context(), key.ID, 0, time.Time{}); err != nil {
		t.Error(err)
	}

	if all, err := keys.List(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%d keys, %v", len(all), err)
	}
}

// An item under the id of a new key that is not this call's key is no success.
func TestAnIdThatIsTakenIsAnError(t *testing.T) {
	keys, transport, _ := openKeys(t)
	transport.Inject(embeddedtest.Fault{On: []string{"PutItem"}, Err: &embeddedtest.Error{Code: "ConditionalCheckFailedException"}})

	if _, token, err := keys.Create(t.Context(), shop); err == nil || token != "" {
		t.Errorf("created: %v", err)
	}
}

// A shared secret that is too short protects nothing.
func TestAShortSecretIsRefused(t *testing.T) {
	keys, _, db := openKeys(t)
	if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("keys"), Item: map[string]types.AttributeValue{
		"keyId": dynamo.S("secret#cursor"), "secret": dynamo.B([]byte("short")),
	}}); err != nil {
		t.Fatal(err)
	}

	if secret, err := keys.Secret(t.Context(), "cursor"); err == nil {
		t.Errorf("%q", secret)
	}
}

// The table was edited by hand: no scope and no tenant that is not valid gets in.
func TestAKeyWithAnInvalidScopeOrTenantIsRefused(t *testing.T) {
	for attribute, value := range map[string]string{"scope": "root", "tenant": "a:b"} {
		keys, _, db := openKeys(t)
		key, token := create(t, keys, shop)

		if _, err := db.UpdateItem(t.Context(), dynamo.NewUpdate("keys", dynamo.Item{"keyId": dynamo.S(key.ID)}).SetValue(attribute, dynamo.S(value)).Input()); err != nil {
			t.Fatal(err)
		}

		if p, err := keys.Authenticate(t.Context(), string(token)); !errors.Is(err, auth.ErrRefused) {
			t.Errorf("%s %q: %+v, %v", attribute, value, p, err)
		}
	}
}

func TestARotationNeedsAKeyAndAGracePeriod(t *testing.T) {
	keys, _, _ := openKeys(t)
	key, _ := create(t, keys, shop)

	if _, err := keys.Secret(t.Context(), "cursor"); err != nil {
		t.Fatal(err)
	}

	for name, row := range map[string]struct {
		id      string
		grace   time.Duration
		expires time.Time
		want    error
	}{
		"a grace period below 0":     {key.ID, -1, time.Time{}, auth.ErrInvalid},
		"an end in the past":         {key.ID, 0, time.Now(), auth.ErrInvalid},
		"a shared secret, not a key": {"secret#cursor", 0, time.Time{}, auth.ErrNoKey},
	} {
		if _, token, err := keys.Rotate(t.Context(), row.id, row.grace, row.expires); !errors.Is(err, row.want) || token != "" {
			t.Errorf("%s: %v", name, err)
		}
	}

	if _, err := auth.NewKeys(auth.KeysConfig{}); err == nil || !strings.Contains(err.Error(), "DynamoDB") || !strings.Contains(err.Error(), "Table") {
		t.Errorf("no configuration: %v", err)
	}

	if text := auth.Token("rk_bad_" + strings.Repeat("s", 43)).String(); text != "[malformed api key]" {
		t.Error(text)
	}
}
