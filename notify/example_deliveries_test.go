package notify_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/notify/webhooks"
)

// hangs is a far side that does not answer.
type hangs struct{}

func (hangs) Send(ctx context.Context, _ notify.Message) (notify.Answer, error) {
	<-ctx.Done()
	return notify.Answer{}, errors.New("no answer")
}

// deliver sends one notification to an endpoint that does not answer, until done is called.
func deliver(change func(c *notify.Config, done func())) {
	cfg, closeAll := embeddedtest.OpenExample(notify.EndpointTableInput("endpoints"), notify.DeliveryTableInput("deliveries"))
	defer closeAll()

	db := dynamodb.NewFromConfig(cfg)
	ctx, done := context.WithCancel(context.Background())

	endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: db, Table: "endpoints"})
	if err != nil {
		panic(err)
	}

	if _, err := endpoints.Create(ctx, "shop", notify.Settings{Destination: "https://shop.example/hook"}, webhooks.NewSecret()); err != nil {
		panic(err)
	}

	c := notify.Config{
		DynamoDB: db, Table: "deliveries", Endpoints: endpoints, Log: embeddedtest.Quiet(),
		Open: func(notify.Endpoint) (notify.Destination, error) { return hangs{}, nil },
	}
	change(&c, done)

	deliveries, err := notify.New(c)
	if err != nil {
		panic(err)
	}

	ended := make(chan error, 1)
	go func() { ended <- deliveries.Run(ctx) }()

	if err := deliveries.Accept(ctx, notify.Notification{Key: "o-1/0/3/notify", OrderID: "o-1", Incarnation: "0", TransitionID: 3, State: "SHIPPED", At: time.Now()}); err != nil {
		panic(err)
	}

	if err := <-ended; err != nil {
		panic(err)
	}
}

// An attempt may take 10 ms. Two more attempts follow, each after a pause, and then the delivery
// counts as missed.
func ExampleSchedule() {
	deliver(func(c *notify.Config, done func()) {
		c.Timeout = 10 * time.Millisecond
		c.Schedule = notify.Schedule{time.Millisecond, 2 * time.Millisecond}
		c.LookEvery = 10 * time.Millisecond
		c.Events.Attempted = func(d notify.Delivery, _ time.Duration) {
			fmt.Println(d.Attempts, d.Status)

			if d.Status == notify.Missed {
				done()
			}
		}
	})
	// Output:
	// 1 PENDING
	// 2 PENDING
	// 3 MISSED
}

// An endpoint that fails for a millisecond without a success is disabled.
func ExampleConfig_disableAfter() {
	deliver(func(c *notify.Config, done func()) {
		c.Timeout = 10 * time.Millisecond
		c.Schedule = notify.Schedule{time.Millisecond, 2 * time.Millisecond}
		c.LookEvery = 10 * time.Millisecond
		c.DisableAfter = time.Millisecond
		c.Events.Disabled = func(endpoint, reason string) {
			fmt.Println(endpoint, "is disabled:", reason)
			done()
		}
	})
	// Output: shop is disabled: failed for 1ms without a success
}
