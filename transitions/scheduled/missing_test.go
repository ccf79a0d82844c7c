package scheduled_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/transitions/scheduled"
	"ratchet/workflow"
)

// dropRows deletes due rows, at most so many.
func (w *world) dropRows(most int) {
	w.t.Helper()

	out, err := w.DB.Scan(w.t.Context(), &dynamodb.ScanInput{TableName: aws.String(dueTable)})
	if err != nil {
		w.t.Fatal(err)
	}

	for _, item := range out.Items[:min(most, len(out.Items))] {
		key := dynamo.Item{"shard": item["shard"], "due": item["due"]}
		if _, err := w.DB.DeleteItem(w.t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(dueTable), Key: key}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) lacks(want scheduled.Lacking) {
	w.t.Helper()

	if got, err := w.schedule.Lacking(w.t.Context(), 100); err != nil || got != want {
		w.t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

// TestARequestWithoutItsRowIsFoundAndMended: rows that are lost are counted, a rebuild writes them, and the requests are judged. What
// has ended needs no row.
func TestARequestWithoutItsRowIsFoundAndMended(t *testing.T) {
	w := newWorld(t)
	w.lacks(scheduled.Lacking{Complete: true})

	var placed []scheduled.Request
	for n := range 5 {
		id := transitions.OrderID(fmt.Sprint("o-", n))
		shop.Place(t, w.orders, shop.Mugs(id, 1))
		placed = append(placed, w.place(request(id, workflow.Cancel), time.Hour))
	}

	if _, err := w.schedule.Withdraw(t.Context(), placed[0].OrderID, placed[0].ID); err != nil {
		t.Fatal(err)
	}

	if _, err := w.schedule.Move(t.Context(), placed[1].OrderID, placed[1].ID, w.clock.Now().Add(30*time.Minute)); err != nil {
		t.Fatal(err)
	}
	w.lacks(scheduled.Lacking{Waiting: 4, Complete: true})
	w.dropRows(3)
	w.lacks(scheduled.Lacking{Waiting: 4, Rowless: 3, Complete: true})

	if waiting, err := w.schedule.Rebuild(t.Context(), nil); err != nil || waiting != 4 {
		t.Errorf("%d, %v", waiting, err)
	}
	w.lacks(scheduled.Lacking{Waiting: 4, Complete: true})

	if swept := w.sweep(2 * time.Hour); swept.Applied != 4 {
		t.Errorf("%+v", swept)
	}
	w.lacks(scheduled.Lacking{Complete: true})
}

// TestARowThatWasPostponedIsNotMissing: a request that could not be judged is due later, and its row is at another time.
func TestARowThatWasPostponedIsNotMissing(t *testing.T) {
	w := newWorld(t)
	shop.Place(t, w.orders, shop.Mugs("o-1", 1))
	w.place(request("o-1", workflow.Cancel), time.Minute)
	w.clock.Advance(2 * time.Minute)
	w.Wire.Inject(embeddedtest.Answer("AccessDeniedException", "TransactWriteItems"))

	if _, err := w.schedule.Sweep(t.Context(), 10); err == nil {
		t.Error("the sweep has not failed")
	}
	w.Wire.Clear()
	w.lacks(scheduled.Lacking{Waiting: 1, Complete: true})
	w.dropRows(1)
	w.lacks(scheduled.Lacking{Waiting: 1, Rowless: 1, Complete: true})
}

// TestWhatChangesWhileRowsAreLookedForIsNotMissing: a request that ends, and one that is moved, after it was read.
//
//raced:here
func TestWhatChangesWhileRowsAreLookedForIsNotMissing(t *testing.T) {
	w := newWorld(t)

	var placed []scheduled.Request
	for _, id := range []transitions.OrderID{"o-1", "o-2", "o-3"} {
		shop.Place(t, w.orders, shop.Mugs(id, 1))
		placed = append(placed, w.place(request(id, workflow.Cancel), time.Hour))
	}

	var once sync.Once
	w.Wire.After(func(c *embeddedtest.Call) error {
		if c.Operation == "Scan" {
			once.Do(func() {
				if _, err := w.schedule.Withdraw(t.Context(), placed[0].OrderID, placed[0].ID); err != nil {
					t.Error(err)
				}

				if _, err := w.schedule.Move(t.Context(), placed[1].OrderID, placed[1].ID, w.clock.Now().Add(2*time.Hour)); err != nil {
					t.Error(err)
				}
			})
		}

		return nil
	})
	w.lacks(scheduled.Lacking{Waiting: 2, Complete: true})
}
