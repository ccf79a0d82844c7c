package sandbox_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
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
		if tracking, err := carrier.Book(t.Context(), "o-1/2/shipping", "o-1"); err != nil || tracking != "trk-o-1-2-shipping" {
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

// TestAShipmentIsForgottenAfterAllRepeats: the table's TTL deletes what has expired, at any time after
// its end. A shipment counts as absent from then on. Its end moves with each change: when the parcel
// leaves, and where milestones are tracked, with each report.
func TestAShipmentIsForgottenAfterAllRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			day  = 24 * time.Hour
			kept = 400 * day
		)

		for _, row := range []struct {
			track  bool
			answer shipping.Answer // to the report, which comes a day after the booking, and again
		}{{false, shipping.Accepted}, {true, shipping.Retry}} {
			db := newDB(t)
			ctx, stop := context.WithCancel(t.Context())
			reports := 0

			carrier, err := sandbox.New(sandbox.Config{
				DynamoDB: db, Table: "carrier", Track: row.track, Log: embeddedtest.Quiet(),
				Deliver: func(context.Context, shipping.Report) (shipping.Answer, error) {
					if reports++; reports == 1 {
						age(t, db, day)
					} else {
						stop()
					}

					return row.answer, nil
				}})
			if err != nil {
				t.Fatal(err)
			}

			if _, err := carrier.Cancel(t.Context(), "canceled"); err != nil {
				t.Fatal(err)
			}
			book(t, carrier, "reported", "o-1")

			if err := carrier.Run(ctx); err != nil {
				t.Fatal(err)
			}

			for _, step := range []struct {
				wait               time.Duration
				canceled, reported bool // is known
			}{
				{kept - day - time.Minute, true, true},
				{2 * time.Minute, false, true},
				{day - 2*time.Minute, false, true},
				{2 * time.Minute, false, false},
			} {
				age(t, db, step.wait)

				for key, known := range map[string]bool{"canceled": step.canceled, "reported": step.reported} {
					if _, err := carrier.Get(t.Context(), key); errors.Is(err, shipping.ErrUnknownShipment) == known {
						t.Errorf("%+v, %+v: %s: %v", row, step, key, err)
					}
				}

				if row.answer != shipping.Accepted {
					continue
				}

				// What has left cannot be canceled; what is absent can.
				if left, err := carrier.Cancel(t.Context(), "reported"); err != nil || left != step.reported {
					t.Errorf("%+v: left %t, %v", step, left, err)
				}
			}

			book(t, carrier, "canceled", "o-1")
		}
	})
}

// age brings the end of every shipment nearer, as if the time had passed.
func age(t *testing.T, db *dynamodb.Client, by time.Duration) {
	t.Helper()

	rows, err := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("carrier")})
	if err != nil {
		t.Fatal(err)
	}

	for _, row := range rows.Items {
		if _, ends := row[sandbox.ExpiryAttribute]; !ends {
			continue
		}

		update := dynamo.NewUpdate("carrier", dynamo.Item{"pk": row["pk"], "sk": row["sk"]}).
			Set(sandbox.ExpiryAttribute+" = "+sandbox.ExpiryAttribute+" - :by").
			Bind(":by", dynamo.N(int64(by/time.Second)))

		if _, err := db.UpdateItem(t.Context(), update.Input()); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	shipped   = report(shipping.Shipped)
	delivered = report(shipping.Delivered)
)

// report is the report of the shipment o-1/2/shipping.
func report(m shipping.Milestone) shipping.Report {
	return shipping.Report{
		ID: "carrier/o-1/2/shipping/" + string(m), Shipment: "o-1/2/shipping", OrderID: "o-1", Milestone: m, Tracking: "trk-o-1-2-shipping",
	}
}

// TestReportsComeInOrderAndAreRepeated books one shipment. The shop refuses the first two
// reports for now.
func TestReportsComeInOrderAndAreRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var got []shipping.Report
		carrier := newCarrier(t, newDB(t), func(_ context.Context, r shipping.Report) (shipping.Answer, error) {
			got = append(got, r)
			switch {
			case len(got) == 1:
				return shipping.Retry, nil
			case len(got) == 2:
				return shipping.Accepted, errors.New("unavailable")
			case r.Milestone == shipping.Delivered:
				stop()
			}

			return shipping.Accepted, nil
		})
		book(t, carrier, "o-1/2/shipping", "o-1")

		if err := carrier.Run(ctx); err != nil {
			t.Fatal(err)
		}

		if want := []shipping.Report{shipped, shipped, shipped, delivered}; !reflect.DeepEqual(got, want) {
			t.Errorf("reports %v, want %v", got, want)
		}
	})
}

func TestRejectedReportEndsTheShipment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())

		var mu sync.Mutex
		var got []string
		carrier := newCarrier(t, newDB(t), func(_ context.Context, r shipping.Report) (shipping.Answer, error) {
			mu.Lock()
			defer mu.Unlock()

			got = append(got, r.OrderID+" "+string(r.Milestone))

			// The second shipment, which is accepted, shows that the carrier went on.
			if r.OrderID == "rejecting" {
				return shipping.Rejected, nil
			}

			if r.Milestone == shipping.Delivered {
				stop()
			}

			return shipping.Accepted, nil
		})
		book(t, carrier, "a", "rejecting")
		book(t, carrier, "b", "accepting")

		if err := carrier.Run(ctx); err != nil {
			t.Fatal(err)
		}

		slices.Sort(got)

		if want := []string{"accepting delivered", "accepting shipped", "rejecting shipped"}; !reflect.DeepEqual(got, want) {
			t.Errorf("reports %q, want %q", got, want)
		}
	})
}

// TestReportsSurviveARestart delivers the first report with one carrier and the second one
// with another.
func TestReportsSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDB(t)

		run := func(last shipping.Milestone) (got []shipping.Report) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()

			carrier := newCarrier(t, db, nil)
			carrier.Wrap(func(next sandbox.DeliverFunc) sandbox.DeliverFunc {
				return func(ctx context.Context, r shipping.Report) (shipping.Answer, error) {
					got = append(got, r)
					if r.Milestone == last {
						stop() // the answer is lost: the context of the carrier's own writes has ended
					}

					return next(ctx, r)
				}
			})

			if last == shipping.Shipped {
				book(t, carrier, "o-1/2/shipping", "o-1")
			}

			if err := carrier.Run(ctx); err != nil {
				t.Fatal(err)
			}

			return got
		}

		if got := run(shipping.Shipped); !reflect.DeepEqual(got, []shipping.Report{shipped}) {
			t.Errorf("before the restart: %v", got)
		}

		if got := run(shipping.Delivered); !reflect.DeepEqual(got, []shipping.Report{shipped, delivered}) {
			t.Errorf("after the restart: %v", got)
		}
	})
}

func TestNewNamesEveryFieldThatBreaksARule(t *testing.T) {
	_, err := sandbox.New(sandbox.Config{Delay: -1, Faults: sandbox.Faults{
		Down: -1, Latency: -1, DuplicatePercent: 101, EarlyPercent: 101, LatePercent: -1, LostPercent: -1, ReturnedPercent: 101,
	}})
	if err == nil {
		t.Fatal("New accepted the configuration")
	}

	for _, field := range []string{"DynamoDB", "Table", "Delay", "Down", "Latency", "DuplicatePercent", "EarlyPercent", "LatePercent", "LostPercent", "ReturnedPercent"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}

// TestGetFollowsTheReports: the milestone is known before it is reported.
func TestGetFollowsTheReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()

		var carrier *sandbox.Carrier

		carrier, err := sandbox.New(sandbox.Config{
			DynamoDB: newDB(t), Table: "carrier", Track: true, Log: embeddedtest.Quiet(),
			Deliver: func(ctx context.Context, r shipping.Report) (shipping.Answer, error) {
				if s, err := carrier.Get(ctx, r.Shipment); err != nil || !s.Confirms(r) || s.Tracking != r.Tracking {
					t.Errorf("%s is not confirmed by %+v, %v", r.Milestone, s, err)
				}

				if r.Milestone == shipping.Delivered {
					stop()
				}

				return shipping.Accepted, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}

		if _, err := carrier.Get(t.Context(), "a"); !errors.Is(err, shipping.ErrUnknownShipment) {
			t.Errorf("unknown: %v", err)
		}
		book(t, carrier, "a", "o-1")
		book(t, carrier, "b", "o-2")

		if _, err := carrier.Cancel(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}

		for key, want := range map[string]shipping.Milestone{"a": shipping.Booked, "b": shipping.Canceled} {
			if s, err := carrier.Get(t.Context(), key); err != nil || s.Status != want {
				t.Errorf("%s: %+v, %v, want %s", key, s, err, want)
			}
		}

		if err := carrier.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}
