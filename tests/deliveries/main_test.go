// Package deliveries kills workers of packages notify and shipping in front of a bad receiver and a
// bad carrier. All of them are processes of their own, made of this test's binary. A model, in one process, changes
// endpoints at any moment.
package deliveries

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"ratchet/internal/worker"
	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/notify/webhooks"
	"ratchet/transitions"
)

const (
	envRole   = "RATCHET_TEST_ROLE"
	envEngine = "RATCHET_TEST_ENGINE"
	envSecret = "RATCHET_TEST_SECRET"
)

func TestMain(m *testing.M) {
	var err error

	switch os.Getenv(envRole) {
	case "worker":
		err = workerMain()
	case "receiver":
		err = receiverMain()
	case "shipper":
		err = shipperMain()
	case "carrier":
		err = carrierMain()
	default:
		goleak.VerifyTestMain(m)
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// attemptTimeout is shorter than the receiver hangs.
const attemptTimeout = 500 * time.Millisecond

func newEndpoints(engine string) (*dynamodb.Client, *notify.Endpoints, error) {
	db := dynamodb.NewFromConfig(aws.Config{
		Region:       "eu-west-1",
		BaseEndpoint: &engine,
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: db, Table: "endpoints"})

	return db, endpoints, err
}

func newDeliveries(engine string) (*notify.Deliveries, *notify.Endpoints, error) {
	db, endpoints, err := newEndpoints(engine)
	if err != nil {
		return nil, nil, err
	}

	d, err := notify.New(notify.Config{
		DynamoDB:     db,
		Table:        "deliveries",
		Endpoints:    endpoints,
		Open:         destination.Opener{Reach: webhooks.ReachLoopback}.Open,
		Schedule:     slices.Repeat(notify.Schedule{50 * time.Millisecond, 200 * time.Millisecond}, 30),
		Timeout:      attemptTimeout,
		DrainTimeout: attemptTimeout,
		LookEvery:    500 * time.Millisecond,
		Log:          slog.New(slog.DiscardHandler),
	})

	return d, endpoints, err
}

// acceptBackoff is when a worker repeats an Accept that failed.
var acceptBackoff = worker.Backoff{Base: 10 * time.Millisecond, Max: 10 * time.Millisecond}

// workerMain accepts the notifications that its input names, and delivers. It acknowledges each
// on its output, as the stream's reaction does by returning.
func workerMain() error {
	d, _, err := newDeliveries(os.Getenv(envEngine))
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()

	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		n, err := parseNotice(in.Text())
		if err != nil {
			return err
		}

		if err := worker.Retry(ctx, acceptBackoff, 0, func() error { return d.Accept(ctx, n) }); err != nil {
			return err
		}
		fmt.Println(in.Text())
	}

	cancel()

	return <-ended
}

// parseNotice reads ORDER/TRANSITION.
func parseNotice(line string) (notify.Notification, error) {
	order, number, _ := strings.Cut(line, "/")

	var id int64
	if _, err := fmt.Sscan(number, &id); err != nil {
		return notify.Notification{}, fmt.Errorf("notice %q: %w", line, err)
	}

	return notify.Notification{
		Key:          line + "/notify",
		OrderID:      transitions.OrderID(order),
		TransitionID: transitions.TransitionID(id),
		State:        "SHIPPED",
		At:           time.Now(),
	}, nil
}
