package sandbox_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/shipping"
	"ratchet/shipping/sandbox"
)

// The carrier books once per key, and never a key that was canceled.
func Example() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(sandbox.Table("shipments"))
	defer closeAll()

	carrier, err := sandbox.New(sandbox.Config{DynamoDB: dynamodb.NewFromConfig(cfg), Table: "shipments"})
	if err != nil {
		panic(err)
	}

	first, err := carrier.Book(ctx, "o-1/2/shipping", "o-1")
	if err != nil {
		panic(err)
	}

	again, err := carrier.Book(ctx, "o-1/2/shipping", "o-1")
	fmt.Println("the same parcel:", first == again, err)

	left, err := carrier.Cancel(ctx, "o-1/2/shipping")
	fmt.Println("it has left:", left, err)

	_, err = carrier.Book(ctx, "o-1/2/shipping", "o-1")
	fmt.Println("canceled:", errors.Is(err, shipping.ErrCanceled))
	// Output:
	// the same parcel: true <nil>
	// it has left: false <nil>
	// canceled: true
}
