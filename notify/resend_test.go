package notify_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
)

// missed makes an endpoint miss the second transition of so many orders, a minute apart.
func (h *deliveryHarness) missed(d *notify.Deliveries, orders int) {
	h.t.Helper()

	if _, err := h.endpoints.Disable(h.t.Context(), "shop", "on holiday"); err != nil {
		h.t.Fatal(err)
	}

	for i := range orders {
		h.accept(d, notice(fmt.Sprint("o-", i), 2, "SHIPPED"))
		time.Sleep(time.Minute)
	}
}

// TestAListHasEveryDeliveryOnce, whatever its limit, and none from before its time.
func TestAListHasEveryDeliveryOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop")
		d := h.worker()
		began := time.Now()
		h.missed(d, 20)

		for _, since := range []int{0, 1, 10, 20} {
			for limit := 1; limit <= 20; limit += 3 {
				found := map[string]int{}

				for after := ""; ; {
					page, next, err := d.List(t.Context(), "shop", notify.Missed, began.Add(time.Duration(since)*time.Minute), after, limit)
					if err != nil || len(page) > limit {
						t.Fatalf("limit %d: %d deliveries, %v", limit, len(page), err)
					}

					for _, delivery := range page {
						found[delivery.ID()]++
					}

					if after = next; after == "" {
						break
					}
				}

				if len(found) != 20-since {
					t.Errorf("limit %d, since %d: %d deliveries", limit, since, len(found))
				}
			}
		}

		if page, _, err := d.List(t.Context(), "shop", notify.Pending, time.Time{}, "", 1000); err != nil || len(page) != 0 {
			t.Errorf("%+v, %v", page, err)
		}
	})
}

func TestAListNamesWhatBreaksARule(t *testing.T) {
	h := newDeliveryHarness(t)
	h.endpoint("shop")
	d := h.worker()

	for _, row := range []struct {
		endpoint string
		status   notify.Status
		after    string
		limit    int
		want     string
	}{
		{"a b", notify.Missed, "", 1, `id "a b"`},
		{"shop", notify.Delivered, "", 1, `status "DELIVERED"`},
		{"shop", notify.Missed, "", 0, "limit 0: 1 to 1000"},
		{"shop", notify.Missed, "", 1001, "limit 1001: 1 to 1000"},
		{"shop", notify.Missed, "%", 1, "after: not"},
		{"shop", notify.Missed, "e30x", 1, "after: not"},
		{"shop", notify.Missed, "eyJzIjotMX0", 1, "after: not"}, // {"s":-1}
		{"shop", notify.Missed, "eyJzIjo0fQ", 1, "after: not"},  // {"s":4}
	} {
		if _, _, err := d.List(t.Context(), row.endpoint, row.status, time.Time{}, row.after, row.limit); !errors.Is(err, notify.ErrInvalid) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%+v: %v", row, err)
		}
	}

	if _, _, err := d.List(t.Context(), "shop", notify.Pending, time.Time{}, "eyJzIjozfQ", 1000); err != nil { // {"s":3}
		t.Error(err)
	}
}

// resendMissed sends an endpoint at most so many of its missed deliveries again, as a job does.
func resendMissed(t *testing.T, d *notify.Deliveries, endpoint string, since time.Time, most int) (count int, err error) {
	t.Helper()

	missed, _, err := d.List(t.Context(), endpoint, notify.Missed, since, "", most)
	if err != nil {
		return 0, err
	}

	for _, delivery := range missed {
		// A former endpoint of the id has missed it.
		if _, err := d.Resend(t.Context(), delivery.ID()); errors.Is(err, notify.ErrNotFound) {
			continue
		} else if err != nil {
			return count, err
		}
		count++
	}

	return count, nil
}

// TestWhatWasMissedIsSentAgain: so many at a time, each once, with a new schedule.
func TestWhatWasMissedIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		d := h.worker()
		began := time.Now()
		h.missed(d, 10)

		if _, err := h.endpoints.Enable(t.Context(), "shop"); err != nil {
			t.Fatal(err)
		}

		for _, row := range []struct {
			since       time.Duration
			limit, want int
		}{{8 * time.Minute, 10, 2}, {0, 5, 5}, {0, 5, 3}, {0, 5, 0}} {
			if n, err := resendMissed(t, d, "shop", began.Add(row.since), row.limit); err != nil || n != row.want {
				t.Errorf("%+v: %d, %v", row, n, err)
			}
		}

		if _, err := d.Resend(t.Context(), "o-1/0/2/shop"); !errors.Is(err, notify.ErrPending) {
			t.Errorf("one that is under way: %v", err)
		}
		defer h.run(d)()
		time.Sleep(time.Minute)
		synctest.Wait()

		if got := h.statuses(d); got["shop DELIVERED"] != 10 || far.effects() != 10 || len(far.keys()) != 10 {
			t.Errorf("%v, %d arrivals", got, len(far.keys()))
		}

		again, err := d.Resend(t.Context(), "o-1/0/2/shop")
		if err != nil || again.Resends != 2 || again.Status != notify.Pending || again.Attempts != 0 {
			t.Errorf("%+v, %v", again, err)
		}

		if _, err := d.Resend(t.Context(), "o-1/0/3/shop"); !errors.Is(err, notify.ErrNotFound) {
			t.Errorf("an unknown one: %v", err)
		}
		time.Sleep(time.Second)
		synctest.Wait()

		if got := h.get(d, "o-1/0/2/shop"); got.Status != notify.Delivered || got.Attempts != 1 || len(far.keys()) != 11 {
			t.Errorf("%+v, %d arrivals", got, len(far.keys()))
		}
	})
}

// TestAResendThatOthersOvertake is tried again, and given up after five times.
func TestAResendThatOthersOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("shop")
		d := h.worker()
		h.missed(d, 1)

		if _, err := h.endpoints.Enable(t.Context(), "shop"); err != nil {
			t.Fatal(err)
		}

		busy := h.transport.Inject(embeddedtest.Answer("ConditionalCheckFailedException", "UpdateItem"))
		if _, err := d.Resend(t.Context(), "o-0/0/2/shop"); !errors.Is(err, notify.ErrContended) || busy.Strikes() != 5 {
			t.Errorf("%v after %d tries", err, busy.Strikes())
		}
		busy.Remove()

		h.transport.Before(func(c *embeddedtest.Call) error {
			if c.Operation != "UpdateItem" {
				return nil
			}
			h.transport.Clear()
			_, err := d.Resend(t.Context(), "o-0/0/2/shop")

			return err
		})

		if _, err := d.Resend(t.Context(), "o-0/0/2/shop"); !errors.Is(err, notify.ErrPending) {
			t.Errorf("another has sent it again: %v", err)
		}

		if got := h.get(d, "o-0/0/2/shop"); got.Resends != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// TestATestIsOneMessageWithoutARecord. The stored answer shows none of the endpoint's secrets.
func TestATestIsOneMessageWithoutARecord(t *testing.T) {
	h := newDeliveryHarness(t)
	far := h.endpoint("shop", func(s *notify.Settings) { s.Headers = map[string]string{"Authorization": "Bearer 1234567890"} })
	far.set(0, func(notify.Message) (notify.Answer, error) {
		return notify.Answer{Status: 401, Text: "no 1234567890"}, errors.New("refused 1234567890")
	})
	d := h.worker()

	answer, err := d.Test(t.Context(), "shop")
	if err == nil || err.Error() != "refused [redacted]" || answer.Status != 401 || answer.Text != "no [redacted]" {
		t.Errorf("%+v, %v", answer, err)
	}

	m := far.messages[0]
	if m.Type != "ratchet.test" || m.Attempt != 1 || !strings.Contains(string(m.Body), `"type":"ratchet.test"`) || m.ContentType != "application/json" || len(h.statuses(d)) != 0 {
		t.Errorf("%+v", m)
	}
	far.set(0, nil)

	if answer, err := d.Test(t.Context(), "shop"); err != nil || answer.Status != 204 || far.messages[1].ID == m.ID {
		t.Errorf("%+v, %v", answer, err)
	}

	broken := h.worker(func(c *notify.Config) {
		c.Open = func(notify.Endpoint) (notify.Destination, error) { return nil, errDown }
	})
	if _, err := broken.Test(t.Context(), "shop"); !errors.Is(err, errDown) {
		t.Errorf("a destination that cannot be opened: %v", err)
	}
}
