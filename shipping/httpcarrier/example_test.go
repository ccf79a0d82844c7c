package httpcarrier_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/shipping/httpcarrier"
	"ratchet/shipping/sandbox"
)

// A carrier behind a URL, here the sandbox's.
func Example() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(sandbox.Table("shipments"))
	defer closeAll()

	far, err := sandbox.New(sandbox.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "shipments"})
	if err != nil {
		panic(err)
	}

	server := httptest.NewServer(far.Handler("token"))
	defer server.Close()

	carrier, err := httpcarrier.New(httpcarrier.Config{URL: server.URL, Token: "token", Transport: server.Client().Transport})
	if err != nil {
		panic(err)
	}

	tracking, err := carrier.Book(ctx, "o-1/2/shipping", "o-1")
	if err != nil {
		panic(err)
	}

	shipment, err := carrier.Get(ctx, "o-1/2/shipping")
	fmt.Println(shipment.Status, shipment.Tracking == tracking, err)
	// Output: booked true <nil>
}
