package embedded_test

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded"
	"ratchet/embedded/faults"
)

// The engine throttles every second call.
func ExampleEngine_Inject() {
	dir, err := os.MkdirTemp("", "engine")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	engine, err := embedded.Open(embedded.Config{Dir: dir})
	check(err)
	defer func() { check(engine.Close()) }()

	throttling, err := engine.Inject(faults.ExceedThroughput("dynamodb.ListTables").EveryNth(2))
	check(err)

	db := dynamodb.NewFromConfig(engine.AWSConfig(), func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	for range 4 {
		_, err := db.ListTables(context.Background(), nil)
		fmt.Println(err == nil)
	}
	fmt.Println(throttling.Strikes(), "calls were throttled")
	// Output:
	// true
	// false
	// true
	// false
	// 2 calls were throttled
}
