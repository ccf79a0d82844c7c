package notify_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/notify"
)

// TestADeliveryKeepsItsLastAttempts: each with its time, status, duration and the head of its answer, at most 20 of
// them and 3 KB, over resends, and outside the index of the queues. A first attempt that succeeds is not noted.
func TestADeliveryKeepsItsLastAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		far := h.endpoint("shop")
		long := strings.Repeat("é", 300)
		calls := 0
		far.set(50*time.Millisecond, func(notify.Message) (notify.Answer, error) {
			calls++
			return notify.Answer{Status: 500 + calls, Text: long}, errors.New("down")
		})

		var schedule notify.Schedule
		for range 22 {
			schedule = append(schedule, time.Minute)
		}
		d := h.worker(func(c *notify.Config) { c.Schedule = schedule })
		defer h.run(d)()

		h.accept(d, notice("o-1", 2, "SHIPPED"))
		time.Sleep(5 * time.Hour)
		synctest.Wait()

		item := h.item("o-1")
		size := 0
		for name, v := range item {
			if strings.HasPrefix(name, "try") && name != "tried" {
				size += len(name) + len(dynamo.Text(item, name))
				_ = v
			}
		}

		got := h.get(d, "o-1/0/2/shop")
		if len(got.Tries) != 20 || size > 3072 {
			t.Fatalf("%d attempts in %d bytes", len(got.Tries), size)
		}

		for i, try := range got.Tries {
			if try.Answer != 504+i || try.Number != 4+i || try.Took != 50*time.Millisecond || !strings.HasPrefix(long, try.Head) || len(try.Head) < 110 || len(try.Head) > 128 {
				t.Errorf("attempt %d: %+v", i, try)
			}
		}

		listed, _, err := d.List(t.Context(), "shop", notify.Missed, time.Time{}, "", 10)
		if err != nil || len(listed) != 1 || listed[0].ID() != "o-1/0/2/shop" || listed[0].Endpoint != "shop" || listed[0].Attempts != 23 {
			t.Errorf("%+v, %v", listed, err)
		}

		far.set(0, nil)

		if _, err := d.Resend(t.Context(), "o-1/0/2/shop"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()

		got = h.get(d, "o-1/0/2/shop")
		if n := len(got.Tries); n != 20 || got.Tries[n-1].Answer != 204 || got.Tries[0].Answer != 505 {
			t.Errorf("after a resend: %+v", got.Tries)
		}

		h.accept(d, notice("o-2", 2, "SHIPPED"))

		if got := h.get(d, "o-2/0/2/shop"); len(got.Tries) != 1 || got.Tries[0].Answer != 204 || h.item("o-2")["tried"] != nil {
			t.Errorf("at once: %+v", got.Tries)
		}

		if n, err := d.Erase(t.Context(), "o-1"); n != 1 || err != nil {
			t.Fatal(n, err)
		}

		if got := h.get(d, "o-1/0/2/shop"); len(got.Tries) != 1 || got.Tries[0].Head != "" {
			t.Errorf("erased: %+v", got.Tries)
		}
	})
}

// item returns the only delivery of an order as it is stored.
func (h *deliveryHarness) item(order string) dynamo.Item {
	h.t.Helper()

	out, err := h.db.Query(h.t.Context(), &dynamodb.QueryInput{
		TableName: aws.String("deliveries"), KeyConditionExpression: aws.String("orderId = :o"), ExpressionAttributeValues: dynamo.Item{":o": dynamo.S(order)},
	})
	if err != nil || len(out.Items) != 1 {
		h.t.Fatal(len(out.Items), err)
	}

	return out.Items[0]
}
