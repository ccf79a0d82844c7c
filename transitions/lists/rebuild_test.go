package lists_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

func (s *orderLists) rebuild() lists.Rebuilt {
	s.t.Helper()

	found, err := s.lists.Rebuild(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}

	return found
}

// TestARebuildRemovesWhatIsNotThere: orders that were deleted, moved, or whose id was used again, without the lists.
func TestARebuildRemovesWhatIsNotThere(t *testing.T) {
	s := newOrderLists(t)
	s.customer = "c-1"
	gone := s.place("gone")
	s.record(gone...)
	s.record(s.place("z", workflow.Hold)...)
	s.record(s.place("kept")...)
	s.record(s.place("moved")...)

	// The lists are off.
	s.deleteOrder("gone")
	s.deleteOrder("z")
	s.customer = "c-2"
	s.place("z")

	if _, err := s.orders.Apply(t.Context(), transitions.Request{OrderID: "moved", Event: workflow.Hold, TransitionID: 2}); err != nil {
		t.Fatal(err)
	}

	// A row that no head knows, as in a table that was copied in parts.
	s.put("customer//c-9", "0000000000001#kept")

	// The same of an order of which a tombstone is left.
	dead := s.place("dead")
	s.record(dead...)
	s.deleteOrder("dead")
	s.remove(last(dead))
	s.put("customer//c-9", "0000000000001#dead")

	if found := s.rebuild(); found.Orders != 3 || found.Corrected != 2 || found.Gone != 1 || found.Rows != 2 || found.Unreadable != 0 {
		t.Errorf("%+v", found)
	}

	s.want("", "", "z moved kept")
	s.want("", workflow.Pending, "z kept")
	s.want("", workflow.OnHold, "moved")

	for customer, want := range map[string]string{"c-1": "moved kept", "c-2": "z", "c-9": ""} {
		if got := s.ofCustomer("", customer, "", 10); got != want {
			t.Errorf("of %s: %q, want %q", customer, got, want)
		}
	}

	if rows := s.rows(); rows != 3*4+2+1 {
		t.Errorf("%d rows, want 4 of each order, two tombstones and the mark", rows)
	}

	if found := s.rebuild(); found.Corrected+found.Gone+found.Rows != 0 {
		t.Errorf("a second rebuild finds %+v", found)
	}
	s.record(gone...) // late
	s.want("", "", "z moved kept")
}

// TestARebuildCountsOnlyWhatItRemoves: the rows of a deleted order leave with its head, in another part of the table
// than the head's, whose page was read before.
func TestARebuildCountsOnlyWhatItRemoves(t *testing.T) {
	s := newOrderLists(t)

	const orders = 60
	for i := range orders {
		id := fmt.Sprintf("o-%02d", i)
		s.record(s.place(id)...)
		s.deleteOrder(id)
	}

	if found := s.rebuild(); found.Gone != orders || found.Rows+found.Corrected != 0 {
		t.Errorf("%+v", found)
	}
}

// TestAnOrderIsGoneOnce, whether its head or a row that is not in its head is found first.
func TestAnOrderIsGoneOnce(t *testing.T) {
	s := newOrderLists(t)

	const orders = 30
	for i := range orders {
		id := fmt.Sprintf("o-%02d", i)
		s.record(s.place(id)...)
		s.deleteOrder(id)
		s.put("customer//c-9", "0000000000001#"+id)
	}

	if found := s.rebuild(); found.Gone != orders || found.Rows != orders || found.Corrected != 0 {
		t.Errorf("%+v", found)
	}
}

// TestARebuildThatIsCutShortGoesOn, and does not read again what it has read.
func TestARebuildThatIsCutShortGoesOn(t *testing.T) {
	s := newOrderLists(t)
	for i := range 30 {
		s.place(fmt.Sprintf("o-%02d", i))
	}

	reads := 0

	for range 100 {
		s.Wire.Clear()
		s.Wire.Inject(embeddedtest.Answer("AccessDeniedException", "TransactWriteItems").From(4))

		found, err := s.lists.Rebuild(t.Context(), nil)
		if reads += found.Orders; err == nil {
			break
		}

		if ready, err := s.lists.Ready(t.Context()); ready || err != nil {
			t.Fatal(ready, err)
		}
	}

	if ready, err := s.lists.Ready(t.Context()); !ready || err != nil || reads >= 200 {
		t.Errorf("ready %t, %v after %d reads", ready, err, reads)
	}

	if all, stale := s.list("", "", 100); len(all) != 30*5-1 || stale != 0 {
		t.Errorf("%s, %d stale", all, stale)
	}
}

// TestAnOrderThatCannotBeReadIsNamed, by a page and by a rebuild, and hides no other.
func TestAnOrderThatCannotBeReadIsNamed(t *testing.T) {
	s := newOrderLists(t)
	s.record(s.place("a")...)
	s.record(s.place("b")...)

	update := dynamo.NewUpdate(shop.OrdersTable, dynamo.Item{"orderId": dynamo.S("a")}).SetValue("transitionId", dynamo.S("x"))
	if _, err := s.DB.UpdateItem(t.Context(), update.Input()); err != nil {
		t.Fatal(err)
	}

	s.put("customer//c-9", "0000000000001#a") // nothing says that it is wrong
	rows := s.rows()

	page, err := s.lists.Page(t.Context(), lists.Query{Limit: 10})
	if err != nil || len(page.Orders) != 1 || len(page.Unreadable) != 1 || page.Unreadable[0].OrderID != "a" || page.Stale != 0 {
		t.Errorf("%+v, %v", page, err)
	}

	if found := s.rebuild(); found.Unreadable != 1 || !slices.Equal(found.Names, []transitions.OrderID{"a"}) || found.Gone != 0 {
		t.Errorf("%+v", found)
	}

	if got := s.rows(); got != rows+1 {
		t.Errorf("%d rows, want %d and the mark", got, rows)
	}
}

// TestListsThatMissChangesAreNotReady, until they are rebuilt when no changes are missed any more.
func TestListsThatMissChangesAreNotReady(t *testing.T) {
	s := newOrderLists(t)

	missed := func() {
		t.Helper()

		if err := s.lists.Missed(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	ready := func(want bool) {
		t.Helper()

		if got, err := s.lists.Ready(t.Context()); got != want || err != nil {
			t.Errorf("ready %t, %v, want %t", got, err, want)
		}
	}

	missed() // there are no lists

	if rows := s.rows(); rows != 0 {
		t.Errorf("%d rows", rows)
	}
	s.rebuild()
	ready(true)

	// Lost before the rebuild has begun.
	if err := s.lists.Missed(t.Context(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	ready(true)
	missed()
	ready(false)
	s.rebuild()
	ready(true)

	once := false

	_, err := s.lists.Rebuild(t.Context(), func(lists.Rebuilt) {
		if !once {
			once = true
			missed()
		}
	})
	if err == nil {
		t.Error("the changes that were missed during the rebuild may not be in the lists")
	}
	ready(false)
}

// TestNoRebuildBeginsWhileAWorkerWithoutListsMayRun: it ends at any moment after its last note, and the changes that
// it has handled until then are in no list. A note before the first rebuild counts, too.
func TestNoRebuildBeginsWhileAWorkerWithoutListsMayRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOrderLists(t)
		s.place("a")

		begins := func(want bool) {
			t.Helper()

			_, err := s.lists.Rebuild(t.Context(), nil)
			if ready, _ := s.lists.Ready(t.Context()); (err == nil) != want || ready != want {
				t.Errorf("%v, ready %t, want %t", err, ready, want)
			}
		}
		missed := func(until time.Duration) {
			t.Helper()

			if err := s.lists.Missed(t.Context(), time.Now().Add(until)); err != nil {
				t.Fatal(err)
			}
		}

		for range 2 {
			missed(90 * time.Second)
			begins(false)
			time.Sleep(60 * time.Second)
			missed(90 * time.Second)
			missed(time.Second) // of another worker, which has ended before
			missed(-time.Second)
			// Clocks differ by a minute at most.
			time.Sleep(2*time.Minute + 29*time.Second)
			begins(false)
			time.Sleep(2 * time.Second)
			begins(true)
		}
	})
}
