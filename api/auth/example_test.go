package auth_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/api/auth"
	"ratchet/embedded/embeddedtest"
)

// A key is shown once and authenticates its tenant until it is revoked.
func ExampleKeys() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(auth.TableInput("keys"))
	defer closeAll()

	keys, err := auth.NewKeys(auth.KeysConfig{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "keys"})
	if err != nil {
		panic(err)
	}

	key, token, err := keys.Create(ctx, auth.NewKey{Name: "shop", Tenant: "acme", Scope: auth.Act})
	if err != nil {
		panic(err)
	}

	caller, err := keys.Authenticate(ctx, string(token))
	fmt.Println(caller.Tenant, caller.May(auth.Read), caller.May(auth.Admin), err)

	_, err = keys.Authenticate(ctx, string(token)+"x")
	fmt.Println("another token is refused:", errors.Is(err, auth.ErrRefused))

	fmt.Println("revoked:", keys.Revoke(ctx, key.ID) == nil)
	// Output:
	// acme true false <nil>
	// another token is refused: true
	// revoked: true
}
