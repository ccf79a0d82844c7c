package sandbox_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/shipping"
	"ratchet/shipping/sandbox"
)

// desk notes the milestones that a carrier reports, and stops it at the last one.
type desk struct {
	mu   sync.Mutex
	got  []shipping.Milestone
	last shipping.Milestone
	stop func()
}

func (d *desk) take(_ context.Context, r shipping.Report) (shipping.Answer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.got = append(d.got, r.Milestone)
	if n := len(d.got); r.Milestone == d.last && (n == 1 || d.got[n-1] == d.got[n-2]) {
		d.stop()
	}

	return shipping.Accepted, nil
}

// TestFaultsOfTheCarrier books one shipment with a carrier that makes every report twice.
func TestFaultsOfTheCarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			name   string
			faults sandbox.Faults
			want   []shipping.Milestone
		}{
			{"duplicates", sandbox.Faults{}, []shipping.Milestone{shipping.Shipped, shipping.Shipped, shipping.Delivered, shipping.Delivered}},
			{"lost", sandbox.Faults{LostPercent: 100, ReturnedPercent: 100}, []shipping.Milestone{shipping.Shipped, shipping.Shipped, shipping.Lost, shipping.Lost}},
			{"returned", sandbox.Faults{ReturnedPercent: 100}, []shipping.Milestone{
				shipping.Shipped, shipping.Shipped, shipping.Delivered, shipping.Delivered, shipping.Returned, shipping.Returned,
			}},
		} {
			ctx, stop := context.WithCancel(t.Context())
			d := &desk{last: test.want[len(test.want)-1], stop: stop}
			test.faults.DuplicatePercent = 100
			carrier := newBadCarrier(t, newDB(t), d.take, test.faults)
			book(t, carrier, "o-1/2/shipping", "o-1")

			if err := carrier.Run(ctx); err != nil {
				t.Fatal(err)
			}
			stop()

			if !slices.Equal(d.got, test.want) {
				t.Errorf("%s: reports %q, want %q", test.name, d.got, test.want)
			}
		}
	})
}

// TestReportsComeEarlyAndLate, by the faults of their shipment: a delivery before its shipment, and
// again ten delays after it instead of one. The answer to the early one does not count.
func TestReportsComeEarlyAndLate(t *testing.T) {
	for _, test := range []struct {
		faults sandbox.Faults
		want   []string
	}{
		{sandbox.Faults{}, []string{"shipped 1m0s", "delivered 2m0s"}},
		{sandbox.Faults{EarlyPercent: 100}, []string{"delivered 1m0s", "shipped 1m0s", "delivered 2m0s"}},
		{sandbox.Faults{LatePercent: 100}, []string{"shipped 1m0s", "delivered 11m0s"}},
		{sandbox.Faults{EarlyPercent: 100, LostPercent: 100}, []string{"lost 1m0s", "shipped 1m0s", "lost 2m0s"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got []string
			ids := map[shipping.Milestone]string{}
			began := time.Now()

			carrier, err := sandbox.New(sandbox.Config{
				DynamoDB: newDB(t), Table: "carrier", Delay: time.Minute, Faults: test.faults, Log: embeddedtest.Quiet(),
				Deliver: func(_ context.Context, r shipping.Report) (shipping.Answer, error) {
					got = append(got, string(r.Milestone)+" "+time.Since(began).Truncate(10*time.Second).String())
					if id := ids[r.Milestone]; id != "" && id != r.ID {
						t.Errorf("%s was reported as %s and %s", r.Milestone, id, r.ID)
					}
					ids[r.Milestone] = r.ID

					if len(got) == 1 && r.Milestone != shipping.Shipped {
						return shipping.Rejected, errors.New("too early")
					}

					return shipping.Accepted, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			book(t, carrier, "o-1/2/shipping", "o-1")

			ctx, stop := context.WithTimeout(t.Context(), 15*time.Minute)
			defer stop()

			if err := carrier.Run(ctx); err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%+v: %q, %v, want %q", test.faults, got, err, test.want)
			}
		})
	}
}

// TestACarrierIsDownForAWhile waits through an outage of an hour of virtual time.
func TestACarrierIsDownForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		db := newDB(t)
		began := time.Now()
		carrier := newBadCarrier(t, db, nil, sandbox.Faults{Down: time.Hour, Latency: time.Second})

		if _, err := carrier.Book(ctx, "a", "o-1"); !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("Book: %v", err)
		}

		if _, err := carrier.Cancel(ctx, "a"); !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("Cancel: %v", err)
		}

		if _, err := carrier.Get(ctx, "a"); !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("Get: %v", err)
		}

		time.Sleep(time.Hour)

		if _, err := carrier.Book(ctx, "a", "o-1"); err != nil || time.Since(began) != time.Hour+time.Second {
			t.Errorf("Book after the outage: %v, %v after the start", err, time.Since(began))
		}

		ended, cancel := context.WithCancel(ctx)
		cancel()

		if _, err := carrier.Cancel(ended, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("Cancel: %v", err)
		}
	})
}

func TestACarrierThatIsDownReportsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDB(t)
		book(t, newCarrier(t, db, nil), "o-1/2/shipping", "o-1")

		ctx, stop := context.WithCancel(t.Context())
		began := time.Now()
		carrier := newBadCarrier(t, db, func(_ context.Context, r shipping.Report) (shipping.Answer, error) {
			if down := time.Since(began) < time.Minute; down {
				t.Errorf("%s was reported during the outage", r.Milestone)
			}
			stop()

			return shipping.Accepted, nil
		}, sandbox.Faults{Down: time.Minute})

		if err := carrier.Run(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

// TestACanceledShipmentMakesNoReport: another shipment, booked later, shows that the carrier
// has passed the canceled one.
func TestACanceledShipmentMakesNoReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		var got []string
		carrier := newCarrier(t, newDB(t), func(_ context.Context, r shipping.Report) (shipping.Answer, error) {
			mu.Lock()
			defer mu.Unlock()

			got = append(got, r.OrderID+" "+string(r.Milestone))
			if r.Milestone == shipping.Delivered {
				stop()
			}

			return shipping.Accepted, nil
		})
		book(t, carrier, "a", "canceled")

		if left, err := carrier.Cancel(t.Context(), "a"); err != nil || left {
			t.Fatal(left, err)
		}
		book(t, carrier, "b", "shipped")

		if err := carrier.Run(ctx); err != nil {
			t.Fatal(err)
		}

		if want := []string{"shipped shipped", "shipped delivered"}; !slices.Equal(got, want) {
			t.Errorf("reports %q, want %q", got, want)
		}

		if left, err := carrier.Cancel(t.Context(), "b"); err != nil || !left {
			t.Errorf("left %t, %v: the parcel was reported", left, err)
		}
	})
}

// TestAParcelLeavesUnlessItIsCanceledAtThatMoment cancels while the shop takes the report.
func TestAParcelLeavesUnlessItIsCanceledAtThatMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		var got []shipping.Report
		var carrier *sandbox.Carrier
		carrier = newCarrier(t, newDB(t), func(_ context.Context, r shipping.Report) (shipping.Answer, error) {
			mu.Lock()
			defer mu.Unlock()

			got = append(got, r)
			if r.OrderID == "last" {
				stop()
				return shipping.Accepted, nil
			}

			if left, err := carrier.Cancel(t.Context(), "a"); err != nil || left {
				t.Errorf("left %t, %v", left, err)
			}
			book(t, carrier, "b", "last")

			return shipping.Accepted, nil
		})
		book(t, carrier, "a", "canceled")

		if err := carrier.Run(ctx); err != nil {
			t.Fatal(err)
		}

		if len(got) != 2 {
			t.Errorf("reports %v", got)
		}
	})
}
