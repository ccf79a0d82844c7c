package auth_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/api/auth"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
)

// The key is revoked, or rotated by another caller, between the read and the write of a
// rotation. The rotation fails, and creates no key.
func TestARotationThatIsOvertakenCreatesNoKey(t *testing.T) {
	var db *dynamodb.Client // of the other caller
	for _, row := range []struct {
		about string
		first func(t *testing.T, keys *auth.Keys, id string)
		keys  int // in the end
	}{
		{
			about: "deleted meanwhile",
			first: func(t *testing.T, _ *auth.Keys, id string) {
				t.Helper()

				if _, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("keys"), Key: dynamo.Item{"keyId": dynamo.S(id)}}); err != nil {
					t.Error(err)
				}
			},
		},
		{
			about: "revoked meanwhile",
			first: func(t *testing.T, keys *auth.Keys, id string) {
				if err := keys.Revoke(t.Context(), id); err != nil {
					t.Error(err)
				}
			},
			keys: 1,
		},
		{
			about: "rotated meanwhile",
			first: func(t *testing.T, keys *auth.Keys, id string) {
				if _, _, err := keys.Rotate(t.Context(), id, 0, auth.NewKey{}.Expires); err != nil {
					t.Error(err)
				}
			},
			keys: 2,
		},
	} {
		t.Run(row.about, func(t *testing.T) {
			cfg := embeddedtest.Open(t).AWSConfig()
			other := dynamodb.NewFromConfig(cfg.Copy())
			db = other
			transport := embeddedtest.Intercept(&cfg)
			embeddedtest.Create(t, other, auth.TableInput("keys"))

			open := func(db *dynamodb.Client) *auth.Keys {
				keys, err := auth.NewKeys(auth.KeysConfig{DynamoDB: db, Table: "keys"})
				if err != nil {
					t.Fatal(err)
				}

				return keys
			}
			slow, quick := open(dynamodb.NewFromConfig(cfg)), open(other)
			key, _ := create(t, quick, shop)

			overtake := sync.OnceFunc(func() { row.first(t, quick, key.ID) })
			transport.Before(func(c *embeddedtest.Call) error {
				if c.Is("TransactWriteItems") {
					overtake()
				}

				return nil
			})

			if _, token, err := slow.Rotate(t.Context(), key.ID, 0, auth.NewKey{}.Expires); !errors.Is(err, auth.ErrEnded) || token != "" {
				t.Errorf("the rotation: %v", err)
			}

			if all, err := quick.List(t.Context()); err != nil || len(all) != row.keys {
				t.Errorf("%d keys, want %d, %v", len(all), row.keys, err)
			}
		})
	}
}
