package notify_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/notify/webhooks"
	"ratchet/workflow"
)

// A shop wants to know when its orders have left.
func ExampleEndpoints() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(notify.EndpointTableInput("endpoints"))
	defer closeAll()

	endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "endpoints"})
	if err != nil {
		panic(err)
	}

	if _, err := endpoints.Create(ctx, "shop", notify.Settings{
		Destination: "https://shop.example/hook",
		Filter:      notify.Filter{States: []workflow.State{workflow.Shipped}},
		Ordered:     true,
	}, webhooks.NewSecret()); err != nil {
		panic(err)
	}

	all, err := endpoints.List(ctx)
	if err != nil {
		panic(err)
	}

	for _, e := range all {
		fmt.Println(e.ID, e.Status, e.Destination, e.Filter.States)
	}
	// Output: shop ACTIVE https://shop.example/hook [SHIPPED]
}
