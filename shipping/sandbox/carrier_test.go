package sandbox_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/shipping"
	"ratchet/shipping/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newDB(t *testing.T) *dynamodb.Client {
	t.Helper()

	return embeddedtest.DynamoDB(t, sandbox.Table("carrier"))
}

func newCarrier(t *testing.T, db *dynamodb.Client, deliver sandbox.DeliverFunc) *sandbox.Carrier {
	t.Helper()

	return newBadCarrier(t, db, deliver, sandbox.Faults{})
}

func newBadCarrier(t *testing.T, db *dynamodb.Client, deliver sandbox.DeliverFunc, faults sandbox.Faults) *sandbox.Carrier {
	t.Helper()

	carrier, err := sandbox.New(sandbox.Config{
		DynamoDB: db,
		Table:    "carrier",
		Interval: time.Millisecond,
		Deliver:  deliver,
		Faults:   faults,
		Log:      embeddedtest.Quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}

	return carrier
}

func book(t *testing.T, carrier *sandbox.Carrier, key, orderID string) {
	t.Helper()

	if _, err := carrier.Book(t.Context(), key, orderID); err != nil {
		t.Fatal(err)
	}
}

func TestBookIsIdempotent(t *testing.T) {
	carrier := newCarrier(t, newDB(t), nil)

	for range 2 {
		if tracking, err := carrier.Book(t.Context(), "o-1/2/shipping", "o-1"); err != nil || tracking != "trk-o-1-2-shipping" || tracking != sandbox.Tracking("carrier/o-1/2/shipping/lost") {
			t.Errorf("got %q, %v", tracking, err)
		}
	}
}

func TestCanceledKeyIsNotBooked(t *testing.T) {
	carrier := newCarrier(t, newDB(t), nil)
	book(t, carrier, "booked", "o-1")

	for _, key := range []string{"booked", "unknown"} {
		for range 2 {
			if left, err := carrier.Cancel(t.Context(), key); err != nil || left {
				t.Fatal(left, err)
			}
		}

		if _, err := carrier.Book(t.Context(), key, "o-1"); !errors.Is(err, shipping.ErrCanceled) {
			t.Errorf("%s: got %v", key, err)
		}
	}
}

var (
	shipped   = sandbox.Report{ID: "carrier/o-1/2/shipping/shipped", OrderID: "o-1", Milestone: sandbox.Shipped}
	delivered = sandbox.Report{ID: "carrier/o-1/2/shipping/delivered", OrderID: "o-1", Milestone: sandbox.Delivered}
)

// TestReportsComeInOrderAndAreRepeated books one shipment. The shop refuses the first two
// reports for now.
func TestReportsComeInOrderAndAreRepeated(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var got []sandbox.Report
	carrier := newCarrier(t, newDB(t), func(_ context.Context, r sandbox.Report) (sandbox.Answer, error) {
		got = append(got, r)
		switch {
		case len(got) == 1:
			return sandbox.Retry, nil
		case len(got) == 2:
			return sandbox.Accepted, errors.New("unavailable")
		case r.Milestone == sandbox.Delivered:
			stop()
		}

		return sandbox.Accepted, nil
	})
	book(t, carrier, "o-1/2/shipping", "o-1")

	if err := carrier.Run(ctx); err != nil {
		t.Fatal(err)
	}

	if want := []sandbox.Report{shipped, shipped, shipped, delivered}; !slices.Equal(got, want) {
		t.Errorf("reports %v, want %v", got, want)
	}
}

func TestRejectedReportEndsTheShipment(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())

	var mu sync.Mutex
	var got []string
	carrier := newCarrier(t, newDB(t), func(_ context.Context, r sandbox.Report) (sandbox.Answer, error) {
		mu.Lock()
		defer mu.Unlock()

		got = append(got, r.OrderID+" "+string(r.Milestone))

		// The second shipment, which is accepted, shows that the carrier went on.
		if r.OrderID == "rejecting" {
			return sandbox.Rejected, nil
		}

		if r.Milestone == sandbox.Delivered {
			stop()
		}

		return sandbox.Accepted, nil
	})
	book(t, carrier, "a", "rejecting")
	book(t, carrier, "b", "accepting")

	if err := carrier.Run(ctx); err != nil {
		t.Fatal(err)
	}

	slices.Sort(got)

	if want := []string{"accepting delivered", "accepting shipped", "rejecting shipped"}; !slices.Equal(got, want) {
		t.Errorf("reports %q, want %q", got, want)
	}
}

// TestReportsSurviveARestart delivers the first report with one carrier and the second one
// with another.
func TestReportsSurviveARestart(t *testing.T) {
	db := newDB(t)

	run := func(last sandbox.Milestone) (got []sandbox.Report) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()

		carrier := newCarrier(t, db, nil)
		carrier.Wrap(func(next sandbox.DeliverFunc) sandbox.DeliverFunc {
			return func(ctx context.Context, r sandbox.Report) (sandbox.Answer, error) {
				got = append(got, r)
				if r.Milestone == last {
					stop() // the answer is lost: the context of the carrier's own writes has ended
				}

				return next(ctx, r)
			}
		})

		if last == sandbox.Shipped {
			book(t, carrier, "o-1/2/shipping", "o-1")
		}

		if err := carrier.Run(ctx); err != nil {
			t.Fatal(err)
		}

		return got
	}

	if got := run(sandbox.Shipped); !slices.Equal(got, []sandbox.Report{shipped}) {
		t.Errorf("before the restart: %v", got)
	}

	if got := run(sandbox.Delivered); !slices.Equal(got, []sandbox.Report{shipped, delivered}) {
		t.Errorf("after the restart: %v", got)
	}
}

func TestNewNamesEveryFieldThatBreaksARule(t *testing.T) {
	_, err := sandbox.New(sandbox.Config{Delay: -1, Interval: -1, Faults: sandbox.Faults{
		Down: -1, Latency: -1, DuplicatePercent: 101, LostPercent: -1, ReturnedPercent: 101,
	}})
	if err == nil {
		t.Fatal("New accepted the configuration")
	}

	for _, field := range []string{"DynamoDB", "Table", "Delay", "Interval", "Down", "Latency", "DuplicatePercent", "LostPercent", "ReturnedPercent"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}
