package lists_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/transitions/lists"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// orderLists are orders and their lists.
type orderLists struct {
	*shop.Shop
	t        *testing.T
	orders   *transitions.Orders
	lists    *lists.Lists
	customer string // of the orders to place
}

func newOrderLists(t *testing.T) *orderLists {
	t.Helper()

	cfg := embeddedtest.Open(t).AWSConfig()
	cfg.Retryer = embeddedtest.RetryAtOnce
	s := &orderLists{t: t, Shop: shop.Over(t, cfg)}
	s.orders = s.Orders()
	s.lists = s.Lists(s.orders)

	return s
}

// place places an order and applies the events. It returns the changes, oldest first.
func (s *orderLists) place(id string, events ...workflow.Event) []transitions.Change {
	s.t.Helper()

	r, err := s.orders.Create(s.t.Context(), transitions.NewOrder{ID: transitions.OrderID(id), Total: transitions.Money{Amount: 1, Currency: "EUR"}, Customer: s.customer})
	if err != nil {
		s.t.Fatal(err)
	}

	changes := []transitions.Change{{New: r.Order, Transition: r.Transition}}
	for i, event := range events {
		old := r.Order
		if r, err = s.orders.Apply(s.t.Context(), transitions.Request{OrderID: old.ID, Event: event, TransitionID: transitions.TransitionID(i + 2)}); err != nil || r.Verdict != transitions.Applied {
			s.t.Fatal(id, event, r.Verdict, err)
		}
		changes = append(changes, transitions.Change{Old: old, New: r.Order, Transition: r.Transition})
	}

	return changes
}

func (s *orderLists) record(changes ...transitions.Change) {
	s.t.Helper()

	for _, c := range changes {
		if err := s.lists.Record(s.t.Context(), c); err != nil {
			s.t.Fatal(err)
		}
	}
}

// list returns the ids of a whole list, read in pages of n, and how many rows were stale.
func (s *orderLists) list(owner string, state workflow.State, n int) (ids string, stale int) {
	s.t.Helper()

	var all []string
	for after := ""; ; {
		page, err := s.lists.Page(s.t.Context(), lists.Query{Owner: owner, State: state, After: after, Limit: n})
		if err != nil {
			s.t.Fatal(err)
		}

		for _, o := range page.Orders {
			all = append(all, string(o.ID))
		}
		stale += page.Stale

		if after = page.Next; after == "" {
			return strings.Join(all, " "), stale
		}
	}
}

func (s *orderLists) want(owner string, state workflow.State, want string) {
	s.t.Helper()

	for _, n := range []int{1, 2, 100} {
		if got, stale := s.list(owner, state, n); got != want || stale != 0 {
			s.t.Errorf("orders of %q in %q, pages of %d: %s (%d stale), want %s", owner, state, n, got, stale, want)
		}
	}
}

// rows returns the number of items in the table of lists.
func (s *orderLists) rows() int {
	s.t.Helper()

	table := shop.ListsTable

	out, err := s.DB.Scan(s.t.Context(), &dynamodb.ScanInput{TableName: &table})
	if err != nil {
		s.t.Fatal(err)
	}

	return len(out.Items)
}

func TestOrdersAreListedByStateAndTime(t *testing.T) {
	s := newOrderLists(t)
	s.record(s.place("a")...)
	s.record(s.place("b", workflow.Hold)...)
	s.record(s.place("c")...)
	s.record(s.place("d", workflow.Hold, workflow.Release)...)
	s.record(s.place("acme:a", workflow.Hold)...)

	s.want("", "", "d c b a")
	s.want("", workflow.Pending, "d c a")
	s.want("", workflow.OnHold, "b")
	s.want("", workflow.Shipped, "")
	s.want("acme", "", "acme:a")
	s.want("acme", workflow.OnHold, "acme:a")
	s.want("acme", workflow.Pending, "")
}

// Records arrive again, late, and in any sequence.
func TestALateRecordChangesNothing(t *testing.T) {
	for seed := range uint64(20) {
		s := newOrderLists(t)
		changes := s.place("a", workflow.Hold, workflow.Release, workflow.Hold, workflow.Release, workflow.Hold)

		late := slices.Concat(changes, changes)
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
		s.record(late...)

		s.want("", workflow.OnHold, "a")
		s.want("", workflow.Pending, "")

		if rows := s.rows(); rows != 3 {
			t.Errorf("seed %d: %d rows, want the head, one state and one time", seed, rows)
		}
	}
}

// A newer change within a state excludes older changes that leave the state.
func TestAChangeWithinAStateExcludesOlderRecords(t *testing.T) {
	s := newOrderLists(t)
	changes := s.place("a", workflow.Hold, workflow.Release)

	s.record(changes[0], changes[2], changes[1])
	s.want("", workflow.Pending, "a")
	s.want("", workflow.OnHold, "")
}

// Several workers handle the records of one order at the same time.
func TestConcurrentRecordsLeaveOneRow(t *testing.T) {
	s := newOrderLists(t)
	changes := s.place("a", workflow.Hold, workflow.Release, workflow.Hold)

	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for _, c := range changes {
				if err := s.lists.Record(context.WithoutCancel(t.Context()), c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	s.want("", workflow.OnHold, "a")

	if rows := s.rows(); rows != 3 {
		t.Errorf("%d rows, want 3", rows)
	}
}

// The answer to a write is lost, or the write itself.
func TestLostAnswersDoNotDisturbTheLists(t *testing.T) {
	for _, fault := range []embeddedtest.Fault{
		embeddedtest.LoseAnswer("TransactWriteItems", "UpdateItem"),
		embeddedtest.LoseRequest("TransactWriteItems", "UpdateItem"),
		embeddedtest.Answer("ProvisionedThroughputExceededException", "TransactWriteItems", "GetItem"),
	} {
		s := newOrderLists(t)
		changes := s.place("a", workflow.Hold, workflow.Release)
		fault.Every = 2
		s.Wire.Inject(fault)

		for _, c := range changes {
			for s.lists.Record(t.Context(), c) != nil {
				// The stream gives the record again.
			}
		}
		s.Wire.Clear()
		s.want("", workflow.Pending, "a")

		if rows := s.rows(); rows != 3 {
			t.Errorf("%v: %d rows, want 3", fault.Err, rows)
		}
	}
}

func TestARowThatLagsIsLeftOutAndCounted(t *testing.T) {
	s := newOrderLists(t)
	changes := s.place("a", workflow.Hold)
	s.record(changes[0]) // the hold is still to come

	if ids, stale := s.list("", workflow.Pending, 10); ids != "" || stale != 1 {
		t.Errorf("%q, %d stale", ids, stale)
	}
	s.record(changes[1])
	s.want("", workflow.Pending, "")
	s.want("", workflow.OnHold, "a")

	table := shop.OrdersTable
	if _, err := s.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: dynamo.Item{"orderId": dynamo.S("a")}}); err != nil {
		t.Fatal(err)
	}

	if ids, stale := s.list("", "", 10); ids != "" || stale != 1 {
		t.Errorf("of a deleted order: %q, %d stale", ids, stale)
	}
}

//raced:here
func TestRebuildListsWhatIsOlderThanTheLists(t *testing.T) {
	s := newOrderLists(t)
	s.place("a", workflow.Hold)
	late := s.place("b", workflow.Hold)

	if ready, err := s.lists.Ready(t.Context()); ready || err != nil {
		t.Fatal(ready, err)
	}

	for range 2 {
		if n, err := s.lists.Rebuild(t.Context(), nil); n.Orders != 2 || err != nil {
			t.Fatalf("%+v, %v", n, err)
		}
	}
	s.record(late[0]) // a record of before
	s.want("", workflow.OnHold, "b a")
	s.want("", "", "b a")

	if ready, err := s.lists.Ready(t.Context()); !ready || err != nil {
		t.Fatal(ready, err)
	}
}

func TestAFailedRebuildIsNotReady(t *testing.T) {
	s := newOrderLists(t)
	s.place("a")
	s.Wire.Inject(embeddedtest.Answer("AccessDeniedException", "TransactWriteItems"))

	if _, err := s.lists.Rebuild(t.Context(), nil); err == nil {
		t.Fatal("no error")
	}

	if ready, err := s.lists.Ready(t.Context()); ready || err != nil {
		t.Fatal(ready, err)
	}
}

func TestMoreOrdersThanAPage(t *testing.T) {
	s := newOrderLists(t)
	for i := range 40 {
		s.record(s.place(fmt.Sprintf("o-%02d", i))...)
	}

	all, _ := s.list("", workflow.Pending, 7)

	ids := strings.Fields(all)
	if len(ids) != 40 || ids[0] != "o-39" || !slices.IsSortedFunc(ids, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("%v", ids)
	}
}

func TestAnInvalidLimitIsRefused(t *testing.T) {
	s := newOrderLists(t)
	for _, n := range []int{-1, 0, 1001} {
		if _, err := s.lists.Page(t.Context(), lists.Query{Limit: n}); !errors.Is(err, transitions.ErrInvalidRequest) {
			t.Errorf("limit %d: %v", n, err)
		}
	}

	if _, err := lists.New(lists.Config{}); err == nil || !strings.Contains(err.Error(), "Orders") || !strings.Contains(err.Error(), "Table") {
		t.Error(err)
	}
}

// A change of state costs one read unit and 6 write units, a change within a state one
// write unit, and a repeat only the read.
func TestTheCostOfAChange(t *testing.T) {
	s := newOrderLists(t)
	changes := s.place("a", workflow.Hold, workflow.Release)

	for _, step := range []struct {
		about  string
		change transitions.Change
		want   []string
	}{
		{"placed", changes[0], []string{"GetItem", "TransactWriteItems"}},
		{"repeated", changes[0], []string{"GetItem"}},
		{"within a state", changes[2], []string{"GetItem", "UpdateItem"}},
		{"late", changes[1], []string{"GetItem"}},
	} {
		s.Wire.Reset()
		s.record(step.change)

		if got := s.Wire.Calls(); !slices.Equal(got, step.want) {
			t.Errorf("%s: %v, want %v", step.about, got, step.want)
		}
	}
}
