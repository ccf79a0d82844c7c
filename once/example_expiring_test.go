package once_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/once/keys"
)

// A key that contains its end is refused from then on, also after its record is gone.
func ExampleConfig_keysExpire() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	claims, err := once.New(once.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "once", Operation: "refund/v1", KeysExpire: true})
	if err != nil {
		panic(err)
	}

	for _, end := range []time.Time{time.Now().Add(time.Hour), time.Now().Add(-time.Hour)} {
		key, err := keys.Expiring("refund", "o-1", end)
		if err != nil {
			panic(err)
		}

		result, _, err := claims.Do(context.Background(), key, nil, func(context.Context, *once.Claim) ([]byte, error) { return []byte("refunded"), nil })
		fmt.Printf("%q, expired: %t\n", result, errors.Is(err, once.ErrKeyExpired))
	}
	// Output:
	// "refunded", expired: false
	// "", expired: true
}
