package once_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// objects keeps large results in memory. A service would keep them in Amazon S3.
type objects map[string][]byte

func (b objects) Put(_ context.Context, name string, body []byte, _ time.Time) error {
	b[name] = body
	return nil
}

func (b objects) Get(_ context.Context, name string) ([]byte, error) {
	if body, ok := b[name]; ok {
		return body, nil
	}

	return nil, once.ErrResultUnavailable
}

// Results of up to 1,000 bytes are stored in the claim, larger ones in the bucket.
func ExampleResults() {
	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	large := objects{}

	claims, err := once.New(once.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "once", Operation: "report/v1", Inline: 1000, Results: large})
	if err != nil {
		panic(err)
	}

	for _, size := range []int{1000, 1001, 1001} {
		result, replayed, err := claims.Do(context.Background(), fmt.Sprint("report ", size), nil, func(context.Context, *once.Claim) ([]byte, error) {
			return bytes.Repeat([]byte("x"), size), nil
		})
		fmt.Println(len(result), "bytes, replayed:", replayed, err, "in the bucket:", len(large))
	}
	// Output:
	// 1000 bytes, replayed: false <nil> in the bucket: 0
	// 1001 bytes, replayed: false <nil> in the bucket: 1
	// 1001 bytes, replayed: true <nil> in the bucket: 1
}
