package reactions_test

import (
	"fmt"
	"sync"
	"testing"

	"ratchet/streams/reactions"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestEveryHandlerSeesItsOwnRecord passes many records of one order to the handlers from
// several goroutines. Each record comes several times, and some have the same sequence
// number in different shards. No record may be mistaken for another.
func TestEveryHandlerSeesItsOwnRecord(t *testing.T) {
	s := newOrderSystem(t)
	orders, handlers := s.at(t, 1)
	placeAndPay(t, orders)

	var group sync.WaitGroup
	for id := transitions.TransitionID(3); id < 40; id++ {
		record := s.change(t, func() {
			r, err := orders.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.ShipPart, TransitionID: id})
			if err != nil || r.Verdict != transitions.Applied {
				t.Fatalf("%s, %v", r.Verdict, err)
			}
		})
		record.ShardID, record.SequenceNumber = fmt.Sprint(id%2), fmt.Sprint(id/2)
		for _, name := range []string{reactions.JournalHandler, reactions.ShippingHandler, reactions.JournalHandler} {
			group.Go(func() {
				if err := handlers[name](t.Context(), record); err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()

	rows, err := orders.History(t.Context(), "o-1", 2, 0)
	if err != nil || len(rows) != 37 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}

	for i, row := range rows {
		if int(row.ID) != i+3 {
			t.Errorf("row %d is transition %d", i, row.ID)
		}
	}
}
