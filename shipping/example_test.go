package shipping_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/shipping"
)

// postOffice is a carrier. It acts once per key.
type postOffice struct{ booked, canceled map[string]bool }

func (p *postOffice) Book(_ context.Context, key, _ string) (string, error) {
	if p.canceled[key] {
		return "", shipping.ErrCanceled
	}

	p.booked[key] = true

	return "JJD-1", nil
}

func (p *postOffice) Cancel(_ context.Context, key string) (left bool, err error) {
	p.canceled[key] = true
	return false, nil
}

// A shipment is booked once. A key that was canceled before is never booked.
func Example() {
	ctx := context.Background()

	cfg, closeAll := embeddedtest.OpenExample(once.TableInput("once"))
	defer closeAll()

	claims, err := once.New(once.Config{
		DynamoDB: dynamodb.NewFromConfig(cfg), Table: "once", Operation: "book",
		Failures: map[string]error{"Canceled": shipping.ErrCanceled},
	})
	if err != nil {
		panic(err)
	}

	post := &postOffice{booked: map[string]bool{}, canceled: map[string]bool{}}

	booker, err := shipping.New(shipping.Config{Claims: claims, Carrier: post})
	if err != nil {
		panic(err)
	}

	for range 2 {
		tracking, err := booker.Book(ctx, "o-1/2/shipping", "o-1")
		fmt.Println(tracking, err)
	}

	if _, err := booker.Cancel(ctx, "o-2/2/shipping"); err != nil {
		panic(err)
	}

	_, err = booker.Book(ctx, "o-2/2/shipping", "o-2")
	fmt.Println("canceled:", errors.Is(err, shipping.ErrCanceled), "asked:", post.booked["o-2/2/shipping"])
	// Output:
	// JJD-1 <nil>
	// JJD-1 <nil>
	// canceled: true asked: false
}
