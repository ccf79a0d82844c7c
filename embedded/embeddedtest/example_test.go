package embeddedtest_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
)

// placeOrder is the code under test: it puts an item if there is none.
func placeOrder(*testing.T, *dynamodb.Client) error { return nil }

// A test that loses the answer of a write, as a network does. The SDK sends the write
// again, and its condition must not fail on the caller's own first write.
func ExampleTransport() {
	var t *testing.T // of the test

	cfg := embeddedtest.Backend(t)
	cfg.Retryer = embeddedtest.RetryAtOnce
	transport := embeddedtest.Intercept(&cfg)
	db := dynamodb.NewFromConfig(cfg)

	lost := transport.Inject(embeddedtest.LoseAnswer("PutItem").Next(1))

	if err := placeOrder(t, db); err != nil {
		t.Errorf("place an order: %v", err)
	}

	if lost.Strikes() != 1 || transport.Count("PutItem") != 2 {
		t.Errorf("%d answers lost, %d writes", lost.Strikes(), transport.Count("PutItem"))
	}
}

// A test that makes a random part of the calls fail, in three ways.
func ExampleFault() {
	var t *testing.T // of the test

	cfg := embeddedtest.Backend(t)
	cfg.Retryer = embeddedtest.RetryAtOnce
	transport := embeddedtest.Intercept(&cfg)

	transport.Inject(embeddedtest.LoseRequest().WithProbability(0.05, 1))
	transport.Inject(embeddedtest.LoseAnswer(embeddedtest.Writes()...).WithProbability(0.05, 2))
	transport.Inject(embeddedtest.Throttle("dynamodb.UpdateItem", "dynamodb.PutItem").WithProbability(0.1, 3))

	// ... run the code under test, then check its results ...
}

// A hook decides call by call. Here the item changes between the read and the write
// of the code under test.
func ExampleTransport_Before() {
	var t *testing.T // of the test

	cfg := embeddedtest.Backend(t)
	direct := dynamodb.NewFromConfig(cfg)
	transport := embeddedtest.Intercept(&cfg)
	db := dynamodb.NewFromConfig(cfg)

	transport.Before(func(c *embeddedtest.Call) error {
		if c.Is("UpdateItem") && c.N == 1 {
			return placeOrder(t, direct)
		}

		return nil
	})

	err := placeOrder(t, db)
	if _, failed := errors.AsType[*types.ConditionalCheckFailedException](err); !failed {
		t.Errorf("got %v, want a failed condition", err)
	}
}

func ExampleCall_Is() {
	c := &embeddedtest.Call{Service: "dynamodb", Operation: "UpdateItem"}
	fmt.Println(c, c.Is("UpdateItem"), c.Is("dynamodb.UpdateItem"), c.Is("PutItem"), c.Is())
	// Output: dynamodb.UpdateItem true true false true
}

func ExampleClock() {
	var clock embeddedtest.Clock
	clock.Advance(90 * time.Second)
	fmt.Println(clock.Now())
	// Output: 2026-11-21 12:01:30 +0000 UTC
}
