package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/shipping"
	"ratchet/shipping/sandbox"
)

// brokenDB returns a client whose calls of the operations are lost, and the table behind it.
func brokenDB(t *testing.T, operations ...string) (broken, sound *dynamodb.Client) {
	t.Helper()

	cfg := embeddedtest.Open(t).AWSConfig()
	sound = dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, sound, sandbox.Table("carrier"))

	cfg.Retryer = embeddedtest.NoRetries
	embeddedtest.Intercept(&cfg).Inject(embeddedtest.LoseRequest(operations...))

	return dynamodb.NewFromConfig(cfg), sound
}

// TestAFailureOfTheTableIsNoAnswer: not that a shipment is booked, canceled or unknown.
func TestAFailureOfTheTableIsNoAnswer(t *testing.T) {
	db, _ := brokenDB(t, "TransactWriteItems", "UpdateItem", "GetItem")
	carrier := newCarrier(t, db, nil)

	for call, try := range map[string]func() (any, error){
		"book a":              func() (any, error) { return carrier.Book(t.Context(), "a", "o-1") },
		"cancel a":            func() (any, error) { return carrier.Cancel(t.Context(), "a") },
		"get a: read the shi": func() (any, error) { return carrier.Get(t.Context(), "a") },
	} {
		got, err := try()
		if !errors.Is(err, embeddedtest.ErrLost) || errors.Is(err, shipping.ErrUnknownShipment) || !strings.Contains(err.Error(), call) {
			t.Errorf("%s: %v, %v", call, got, err)
		}
	}
}

// TestAFailedReportIsMadeAgain, and logged: for each write of a report and for the reading of the queue,
// which fails once.
func TestAFailedReportIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for operation, logged := range map[string]string{
			"Query":              "query the queue",
			"GetItem":            "read the shipment",
			"UpdateItem":         "store the milestone",
			"TransactWriteItems": "go on to the next report",
		} {
			var log bytes.Buffer
			var got []string
			ctx, stop := context.WithCancel(t.Context())

			cfg := embeddedtest.Open(t).AWSConfig()
			cfg.Retryer = embeddedtest.NoRetries
			transport := embeddedtest.Intercept(&cfg)
			db := dynamodb.NewFromConfig(cfg)
			embeddedtest.Create(t, db, sandbox.Table("carrier"))

			carrier, err := sandbox.New(sandbox.Config{
				DynamoDB: db, Table: "carrier", Track: true, Log: slog.New(slog.NewTextHandler(&log, nil)),
				Deliver: func(_ context.Context, r shipping.Report) (shipping.Answer, error) {
					got = append(got, string(r.Milestone))
					if r.Milestone == shipping.Delivered {
						stop()
					}

					return shipping.Accepted, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			book(t, carrier, "a", "o-1")
			lost := transport.Inject(embeddedtest.LoseRequest(operation).Next(1))

			if err := carrier.Run(ctx); err != nil || lost.Strikes() != 1 {
				t.Errorf("%s: %v, %d failures", operation, err, lost.Strikes())
			}

			if !slices.Contains(got, "delivered") || strings.Count(log.String(), logged) != 1 || strings.Count(log.String(), "\n") != 1 {
				t.Errorf("%s: reported %q, logged %s", operation, got, log.String())
			}
		}
	})
}

// TestAReportThatTheShopFailsToTakeIsLogged: a report that the shop takes later is not logged.
func TestAReportThatTheShopFailsToTakeIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		reports := 0

		carrier, err := sandbox.New(sandbox.Config{
			DynamoDB: newDB(t), Table: "carrier", Log: slog.New(slog.NewTextHandler(&log, nil)),
			Deliver: func(context.Context, shipping.Report) (shipping.Answer, error) {
				switch reports++; reports {
				case 1:
					return shipping.Accepted, errors.New("no connection")
				case 2:
					return shipping.Retry, nil
				}
				stop()

				return shipping.Accepted, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		book(t, carrier, "a", "o-1")

		if err := carrier.Run(ctx); err != nil || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "no connection") || !strings.Contains(log.String(), "order=o-1") {
			t.Errorf("%v, logged %s", err, &log)
		}
	})
}

// TestAParcelThatCannotLeaveIsReportedAgain: its report is taken by the shop, but the table fails before
// the parcel has left.
func TestAParcelThatCannotLeaveIsReportedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, sound := brokenDB(t, "TransactWriteItems")
		book(t, newCarrier(t, sound, nil), "a", "o-1")

		ctx, stop := context.WithCancel(t.Context())
		reports := 0
		carrier := newCarrier(t, db, func(_ context.Context, r shipping.Report) (shipping.Answer, error) {
			if reports++; reports == 3 || r.Milestone != shipping.Shipped {
				stop()
			}

			return shipping.Accepted, nil
		})

		if err := carrier.Run(ctx); err != nil || reports != 3 {
			t.Errorf("%d reports, %v", reports, err)
		}

		if s, err := newCarrier(t, sound, nil).Get(t.Context(), "a"); err != nil || s.Status != shipping.Booked {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// TestAnEarlyReportThatFailsIsLogged: at the level of debugging, and no other report is logged.
func TestAnEarlyReportThatFailsIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, refuses := range []bool{true, false} {
			var log bytes.Buffer
			ctx, stop := context.WithCancel(t.Context())
			reports := 0

			carrier, err := sandbox.New(sandbox.Config{
				DynamoDB: newDB(t), Table: "carrier", Faults: sandbox.Faults{EarlyPercent: 100},
				Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				Deliver: func(context.Context, shipping.Report) (shipping.Answer, error) {
					if reports++; reports == 3 {
						stop()
					}

					if refuses && reports == 1 {
						return shipping.Retry, errors.New("too early")
					}

					return shipping.Accepted, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			book(t, carrier, "a", "o-1")

			if err := carrier.Run(ctx); err != nil || strings.Contains(log.String(), "too early") != refuses || strings.Contains(log.String(), "level") != refuses {
				t.Errorf("refused %t: %v, logged %q", refuses, err, log.String())
			}
		}
	})
}

// TestHowOftenReportsAreLookedFor: after a fiftieth of the Delay, at least 50 ms. A report
// is made at the first look after its time.
func TestHowOftenReportsAreLookedFor(t *testing.T) {
	for _, row := range []struct{ delay, want time.Duration }{
		{0, 50 * time.Millisecond},
		{time.Second, 1050 * time.Millisecond},
		{100 * time.Second, 102 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()

			began := time.Now()
			var reported time.Duration

			carrier, err := sandbox.New(sandbox.Config{
				DynamoDB: newDB(t), Table: "carrier", Delay: row.delay, Log: embeddedtest.Quiet(),
				Deliver: func(context.Context, shipping.Report) (shipping.Answer, error) {
					reported = time.Since(began)
					stop()

					return shipping.Accepted, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			book(t, carrier, "a", "o-1")

			if err := carrier.Run(ctx); err != nil || reported != row.want {
				t.Errorf("%+v: reported after %v, %v", row, reported, err)
			}
		})
	}
}

// TestReportsThatWaitDoNotHoldUpOthers: more reports than a page has are due first, and the shop
// takes none of them yet. It takes the report that is due last. Of a page, 32 are delivered at once.
//
//raced:here
func TestReportsThatWaitDoNotHoldUpOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		began := time.Now()

		var mu sync.Mutex
		running, most := 0, 0
		carrier := newCarrier(t, newDB(t), func(_ context.Context, r shipping.Report) (shipping.Answer, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			running--

			if r.OrderID != "last" {
				return shipping.Retry, nil
			}
			stop()

			return shipping.Accepted, nil
		})

		for i := range 256 {
			book(t, carrier, strconv.Itoa(i), "waits")
		}
		time.Sleep(time.Millisecond)
		book(t, carrier, "a", "last")
		time.Sleep(time.Millisecond)

		if err := carrier.Run(ctx); err != nil || most != 32 || time.Since(began).Truncate(time.Second) != 9*time.Second {
			t.Errorf("%d at once, after %v, %v", most, time.Since(began), err)
		}
	})
}

// TestAReportIsOneTransaction, before which it is looked whether the parcel may leave. The last one is only
// taken out of the queue.
func TestAReportIsOneTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := embeddedtest.Open(t).AWSConfig()
		transport := embeddedtest.Intercept(&cfg)
		db := dynamodb.NewFromConfig(cfg)
		embeddedtest.Create(t, db, sandbox.Table("carrier"))

		carrier := newCarrier(t, db, nil)
		book(t, carrier, "a", "o-1")

		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()

		if err := carrier.Run(ctx); err != nil {
			t.Fatal(err)
		}

		for operation, want := range map[string]int{"GetItem": 1, "TransactWriteItems": 2, "DeleteItem": 1, "UpdateItem": 0, "PutItem": 0} {
			if n := transport.Count(operation); n != want {
				t.Errorf("%s: %d calls, want %d", operation, n, want)
			}
		}
	})
}

// TestAReportThatAnotherProcessHasMadeIsNotQueuedAgain: while the shop takes the first report, another
// process makes all of them.
func TestAReportThatAnotherProcessHasMadeIsNotQueuedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDB(t)
		var got []string
		note := func(_ context.Context, r shipping.Report) (shipping.Answer, error) {
			got = append(got, string(r.Milestone))
			return shipping.Accepted, nil
		}
		run := func(deliver sandbox.DeliverFunc) {
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()

			if err := newCarrier(t, db, deliver).Run(ctx); err != nil {
				t.Error(err)
			}
		}
		book(t, newCarrier(t, db, nil), "a", "o-1")

		run(func(ctx context.Context, r shipping.Report) (shipping.Answer, error) {
			if len(got) == 0 {
				run(note)
			}

			return note(ctx, r)
		})
		run(note)

		if want := []string{"shipped", "delivered", "shipped"}; !slices.Equal(got, want) {
			t.Errorf("reports %q, want %q", got, want)
		}
	})
}
