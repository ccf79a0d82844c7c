package notify_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/notify"
	"ratchet/transitions"
)

// told is a notification with what may tell whose order it is.
func told(order string, id int64) notify.Notification {
	n := notice(order, id, "SHIPPED")
	n.Cause = transitions.Cause{Code: "asked", Source: "api", Actor: "cli:ada", Text: "for Ada"}
	n.Attributes = map[string]string{"customer": "ada"}

	return n
}

// TestAPersonIsErasedFromTheDeliveriesOfAnOrder, once each: whatever part of a delivery names one.
func TestAPersonIsErasedFromTheDeliveriesOfAnOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		h.endpoint("a").set(0, func(notify.Message) (notify.Answer, error) {
			return notify.Answer{Status: 500, Text: "no Ada"}, errDown
		})
		h.endpoint("b")
		d := h.worker()
		defer h.run(d)()

		all, nothing, attributes, cause := told("o-1", 2), told("o-1", 3), told("o-1", 4), told("o-1", 5)
		nothing.Cause, nothing.Attributes = transitions.Cause{Code: "asked", Source: "api"}, nil
		attributes.Cause = transitions.Cause{}
		cause.Attributes, cause.Cause = nil, transitions.Cause{Text: "for Ada"}
		h.accept(d, all, nothing, attributes, cause, told("o-2", 2))
		synctest.Wait()

		for i, want := range []int{7, 0} { // one of the eight has no person
			if n, err := d.Erase(t.Context(), "o-1"); err != nil || n != want {
				t.Errorf("time %d: %d, %v", i, n, err)
			}
		}

		left, err := d.OfOrder(t.Context(), "o-1")
		if err != nil || len(left) != 8 {
			t.Fatal(left, err)
		}

		for _, delivery := range left {
			want := transitions.Cause{Code: "asked", Source: "api"}
			if delivery.TransitionID > 3 {
				want = transitions.Cause{}
			}

			if len(delivery.Attributes) > 0 || delivery.Response+delivery.Error != "" || delivery.Cause != want || delivery.State != "SHIPPED" ||
				(delivery.Status == notify.Pending) != (delivery.Endpoint == "a") {
				t.Errorf("%+v", delivery)
			}
		}

		if other := h.get(d, "o-2/0/2/b"); other.Attributes["customer"] != "ada" || other.Cause.Text != "for Ada" {
			t.Errorf("another order: %+v", other)
		}
	})
}

// TestADeliveryThatChangesMeanwhileIsErasedAsItIsThen, unless it changes ten times or is deleted.
func TestADeliveryThatChangesMeanwhileIsErasedAsItIsThen(t *testing.T) {
	for name, test := range map[string]struct {
		changes int
		deleted bool
		want    int
		err     string
	}{
		"once": {1, false, 1, ""}, "nine times": {9, false, 1, ""}, "ten times": {10, false, 0, "changed during every attempt"}, "deleted": {1, true, 0, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newDeliveryHarness(t)
			h.endpoint("shop")
			d := h.worker()
			h.accept(d, told("o-1", 2))
			key := dynamo.Item{"orderId": dynamo.S("o-1"), "delivery": dynamo.S("shop#0#0000000000000000002")}

			changes, inside := 0, false
			h.transport.Before(func(c *embeddedtest.Call) (err error) {
				if inside || c.Operation != "UpdateItem" || changes >= test.changes {
					return nil
				}
				changes++
				inside = true

				if test.deleted {
					_, err = h.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("deliveries"), Key: key})
				} else {
					update := dynamo.NewUpdate("deliveries", key).Bind(":one", dynamo.N(1)).Add("version :one").SetValue("call", dynamo.S("other")).SetValue("response", dynamo.S("Ada again"))
					_, err = h.db.UpdateItem(t.Context(), update.Input())
				}
				inside = false

				return err
			})

			n, err := d.Erase(t.Context(), "o-1")
			if n != test.want || (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %d, %v", name, n, err)
			}

			if found, err := d.OfOrder(t.Context(), "o-1"); err != nil || test.want == 1 && (len(found) != 1 || found[0].Response != "" || found[0].Attributes != nil) || test.deleted && len(found) != 0 {
				t.Errorf("%s: %+v, %v", name, found, err)
			}
		})
	}
}

// TestAFailureEndsAnErasure: of each of its calls.
func TestAFailureEndsAnErasure(t *testing.T) {
	h := newDeliveryHarness(t)
	h.endpoint("shop")
	d := h.worker()
	h.accept(d, told("o-1", 2))

	for _, operation := range []string{"Query", "UpdateItem", "GetItem"} {
		if operation == "GetItem" { // is called after another worker has changed the delivery
			h.transport.Inject(embeddedtest.Answer("ConditionalCheckFailedException", "UpdateItem").Next(1))
		}
		broken := h.transport.Inject(embeddedtest.Answer("AccessDeniedException", operation))

		if n, err := d.Erase(t.Context(), "o-1"); n != 0 || err == nil || !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("%s: %d, %v", operation, n, err)
		}
		broken.Remove()
	}

	if n, err := d.Erase(t.Context(), "o-1"); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// TestAnErasureLeavesTheOutcomeOfAnAttemptThatRuns: a far side that takes the notification gets it once, and no text of the far
// side about the person is stored.
func TestAnErasureLeavesTheOutcomeOfAnAttemptThatRuns(t *testing.T) {
	for name, row := range map[string]struct {
		answer notify.Answer
		err    error
		want   notify.Status
	}{
		"taken":  {notify.Answer{Status: 200, Text: "hello Ada"}, nil, notify.Delivered},
		"failed": {notify.Answer{Status: 500, Text: "no Ada"}, errDown, notify.Pending},
		"broken": {notify.Answer{}, errors.New("Ada is unknown"), notify.Pending},
		"gone":   {notify.Answer{Status: 410, Text: "Ada is gone"}, notify.ErrGone, notify.Missed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newDeliveryHarness(t)
				shop := h.endpoint("shop")
				shop.set(10*time.Second, func(notify.Message) (notify.Answer, error) { return row.answer, row.err })
				d := h.worker()
				defer h.run(d)()

				h.accept(d, told("o-1", 2)) // it is stored before the attempt ends

				if n, err := d.Erase(t.Context(), "o-1"); err != nil || n != 1 {
					t.Fatalf("erased %d, %v", n, err)
				}
				time.Sleep(12 * time.Second)
				synctest.Wait()

				delivery := h.get(d, "o-1/0/2/shop")
				if delivery.Status != row.want || delivery.Answer != row.answer.Status || delivery.Attempts != 1 || delivery.TriedAt.IsZero() {
					t.Errorf("%+v", delivery)
				}

				if text := fmt.Sprintf("%+v", delivery); strings.Contains(text, "Ada") || strings.Contains(text, "ada") {
					t.Errorf("the person is back: %s", text)
				}

				if row.want != notify.Pending {
					time.Sleep(time.Hour)
				}

				if keys := shop.keys(); len(keys) != 1 {
					t.Errorf("it came as %v", keys)
				}
			})
		})
	}
}

// TestAnAttemptThatRunsIsNotLostToADeliveryBeforeIt that a person sends again: the endpoint is ordered, so the later one
// is made to wait although its attempt runs.
func TestAnAttemptThatRunsIsNotLostToADeliveryBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newDeliveryHarness(t)
		shop := h.endpoint("shop", ordered)
		d := h.worker()
		defer h.run(d)()

		h.accept(d, told("o-1", 2))
		shop.set(10*time.Second, func(notify.Message) (notify.Answer, error) { return notify.Answer{Status: 200, Text: "thanks"}, nil })
		h.accept(d, told("o-1", 3))

		shop.set(0, func(notify.Message) (notify.Answer, error) {
			return notify.Answer{Status: 503}, notify.RetryAfter(errDown, time.Hour)
		})

		if _, err := d.Resend(t.Context(), "o-1/0/2/shop"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()

		if later := h.get(d, "o-1/0/3/shop"); later.Status != notify.Pending || time.Until(later.NextTry) < time.Hour {
			t.Fatalf("it does not wait: %+v", later)
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()

		if later := h.get(d, "o-1/0/3/shop"); later.Status != notify.Delivered || later.Response != "thanks" {
			t.Errorf("%+v", later)
		}
	})
}
