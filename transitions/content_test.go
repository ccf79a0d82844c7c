package transitions_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

var (
	mug = transitions.Item{SKU: "mug", Quantity: 2, Price: 1250}
	cup = transitions.Item{SKU: "cup", Quantity: 3, Price: 400}
)

func edit(id transitions.OrderID, event string) transitions.Edit {
	return transitions.Edit{OrderID: id, EventID: transitions.RequestID(event)}
}

// edited checks the answer of an edit.
func edited(t testing.TB, want transitions.Verdict) func(transitions.Result, error) transitions.Result {
	t.Helper()

	return func(got transitions.Result, err error) transitions.Result {
		t.Helper()

		if err != nil || got.Verdict != want {
			t.Fatalf("verdict %s (%s), error %v, want %s", got.Verdict, got.Reason, err, want)
		}

		return got
	}
}

// kinds returns two edits of every kind for an order with two mugs. They differ in content,
// so that with the same event id the second is a Conflict.
func kinds(s *orders, t testing.TB) map[string][2]func(transitions.Edit) (transitions.Result, error) {
	type call = func(transitions.Edit) (transitions.Result, error)
	ctx := t.Context()

	return map[string][2]call{
		"add_items": {
			func(e transitions.Edit) (transitions.Result, error) { return s.AddItems(ctx, e, cup) },
			func(e transitions.Edit) (transitions.Result, error) { return s.AddItems(ctx, e, cup, cup) }},
		"change_item": {
			func(e transitions.Edit) (transitions.Result, error) {
				return s.ChangeItem(ctx, e, transitions.Item{SKU: "mug", Quantity: 1, Price: 1200})
			},
			func(e transitions.Edit) (transitions.Result, error) {
				return s.ChangeItem(ctx, e, transitions.Item{SKU: "mug", Quantity: 1, Price: 1100})
			}},
		"remove_item": {
			func(e transitions.Edit) (transitions.Result, error) { return s.RemoveItem(ctx, e, "mug") },
			func(e transitions.Edit) (transitions.Result, error) { return s.RemoveItem(ctx, e, "cup") }},
		"set_address": {
			func(e transitions.Edit) (transitions.Result, error) {
				return s.SetAddress(ctx, e, "shipping", transitions.Address{"city": "Kassel"})
			},
			func(e transitions.Edit) (transitions.Result, error) {
				return s.SetAddress(ctx, e, "billing", transitions.Address{"city": "Kassel"})
			}},
		"add_note": {
			func(e transitions.Edit) (transitions.Result, error) {
				return s.AddNote(ctx, e, transitions.Note{By: "desk", Text: "ring twice"})
			},
			func(e transitions.Edit) (transitions.Result, error) {
				return s.AddNote(ctx, e, transitions.Note{By: "desk", Text: "ring once"})
			}},
	}
}

// TestEveryKindOfEditHasTheSameVerdicts checks the verdicts that all edits have in common.
func TestEveryKindOfEditHasTheSameVerdicts(t *testing.T) {
	for _, kind := range []string{"add_items", "change_item", "remove_item", "set_address", "add_note"} {
		t.Run(kind, func(t *testing.T) {
			s := newOrders(t)
			this, other := kinds(s, t)[kind][0], kinds(s, t)[kind][1]
			edited(t, transitions.NotFound)(this(edit("missing", "e-1")))
			s.place(t, "o-1")

			before := s.Item(t, "o-1")
			first := edited(t, transitions.Applied)(this(edit("o-1", "e-1")))
			if first.ContentVersion != 1 || first.Order.ContentVersion != 1 || first.Order.TransitionID != placeID {
				t.Errorf("the first edit makes version 1 and no transition: %+v", first.Order)
			}

			if _, grew, err := (transitions.Mapping{}).FromRecord(before, s.Item(t, "o-1")); grew || err != nil {
				t.Errorf("readers of the stream must ignore an edit: grew %v, error %v", grew, err)
			}
			edited(t, transitions.Replayed)(this(edit("o-1", "e-1")))
			edited(t, transitions.Conflict)(other(edit("o-1", "e-1")))

			edited(t, transitions.Applied)(s.AddNote(t.Context(), edit("o-1", "later"), transitions.Note{Text: "x"}))
			s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)

			again := edited(t, transitions.Replayed)(this(edit("o-1", "e-1")))
			if again.ContentVersion != first.ContentVersion || again.Order.State != workflow.PaymentReceived {
				t.Errorf("a replay has the edit's own version and the order as it is now: %+v", again)
			}

			refused := edited(t, transitions.WrongState)(this(edit("o-1", "e-2")))
			if diff := cmp.Diff([]workflow.State{workflow.Pending, workflow.OnHold}, refused.Expected); diff != "" {
				t.Errorf("states that may be edited (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEditsOfLinesKeepTheTotal(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1") // 2 mugs at 1250

	r := edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "a"), cup, cup))
	if r.Order.Total.Amount != 2500+2400 || len(r.Order.Items) != 3 {
		t.Errorf("after adding: %+v", r.Order)
	}

	r = edited(t, transitions.Applied)(s.ChangeItem(t.Context(), edit("o-1", "b"), transitions.Item{SKU: "mug", Quantity: 5, Price: 1000}))
	if r.Order.Total.Amount != 5000+2400 || r.Order.Items[0].Quantity != 5 {
		t.Errorf("after changing: %+v", r.Order)
	}

	r = edited(t, transitions.Applied)(s.RemoveItem(t.Context(), edit("o-1", "c"), "cup"))
	if diff := cmp.Diff([]transitions.Item{{SKU: "mug", Quantity: 5, Price: 1000}}, r.Order.Items); diff != "" || r.Order.Total.Amount != 5000 {
		t.Errorf("after removing every cup the total is %d, items (-want +got):\n%s", r.Order.Total.Amount, diff)
	}

	if r := edited(t, transitions.NotFound)(s.RemoveItem(t.Context(), edit("o-1", "d"), "cup")); r.Order == nil || r.Reason == "" {
		t.Errorf("the result must differ from that of a missing order: %+v", r)
	}
}

func TestAnEditSetsTheTimeOfTheOrder(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s.reconfigure(func(c *transitions.Config) { c.Now = func() time.Time { return at } })

	r := edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "a"), cup))
	if !r.Order.UpdatedAt.Equal(at) || r.Order.CreatedAt.Equal(at) {
		t.Errorf("updated at %s, created at %s", r.Order.UpdatedAt, r.Order.CreatedAt)
	}
}

func TestATotalNeverFallsBelowZero(t *testing.T) {
	s := newOrders(t)
	if _, err := s.Create(t.Context(), transitions.NewOrder{ID: "o-1", Items: []transitions.Item{mug},
		Total: transitions.Money{Amount: 2000, Currency: "EUR"}}); err != nil { // a discount of 500
		t.Fatal(err)
	}

	r := edited(t, transitions.WrongState)(s.RemoveItem(t.Context(), edit("o-1", "a"), "mug"))
	if !strings.Contains(r.Reason, "below 0") || r.Order.Total.Amount != 2000 {
		t.Errorf("reason %q, total %d", r.Reason, r.Order.Total.Amount)
	}
	edited(t, transitions.Applied)(s.ChangeItem(t.Context(), edit("o-1", "b"), transitions.Item{SKU: "mug", Quantity: 2, Price: 250}))
}

func TestIfMatchRefusesContentThatTheCallerHasNotSeen(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	version := func(event string, v int64) transitions.Edit {
		e := edit("o-1", event)
		e.IfMatch = &v
		return e
	}
	edited(t, transitions.Applied)(s.AddItems(t.Context(), version("a", 0), cup))
	edited(t, transitions.Superseded)(s.AddItems(t.Context(), version("b", 0), cup))
	edited(t, transitions.Conflict)(s.AddItems(t.Context(), version("c", 9), cup))
	edited(t, transitions.Applied)(s.RemoveItem(t.Context(), version("d", 1), "cup"))
	edited(t, transitions.Replayed)(s.AddItems(t.Context(), version("a", 0), cup))
}

// TestAnOutdatedSeenOrderNeverChangesTheAnswer passes an order that has changed
// since it was read.
func TestAnOutdatedSeenOrderNeverChangesTheAnswer(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	stale, _, err := s.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}
	edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "a"), cup))

	e := edit("o-1", "b")
	e.Seen = stale
	if r := edited(t, transitions.Applied)(s.RemoveItem(t.Context(), e, "cup")); len(r.Order.Items) != 1 || r.Order.Total.Amount != 2500 {
		t.Errorf("the line that the stale order lacks was removed: %+v", r.Order)
	}

	if r := edited(t, transitions.Replayed)(s.RemoveItem(t.Context(), e, "cup")); len(r.Order.Items) != 1 {
		t.Errorf("a replay shows the order as it is: %+v", r.Order)
	}

	e.EventID = "c"
	if r := edited(t, transitions.Applied)(s.ChangeItem(t.Context(), e, transitions.Item{SKU: "mug", Quantity: 1, Price: 1})); r.Order.Total.Amount != 1 {
		t.Errorf("total %d", r.Order.Total.Amount)
	}
}

func TestTheMemoryOfEditsIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and many edits")
	}

	s := newOrders(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s.reconfigure(func(c *transitions.Config) {
		c.EditMemory, c.EditAge, c.Now = 8, time.Hour, func() time.Time { now = now.Add(time.Second); return now }
	})
	s.place(t, "o-1")

	traces := func() int {
		return len(s.Item(t, "o-1")["processedEvents"].(*types.AttributeValueMemberM).Value) / 2
	}
	note := func(i int) (transitions.Result, error) {
		return s.AddNote(t.Context(), edit("o-1", fmt.Sprint("e", i)), transitions.Note{Text: fmt.Sprint(i)})
	}
	for i := range 50 {
		edited(t, transitions.Applied)(note(i))
		edited(t, transitions.Replayed)(note(i))

		if i >= 5 { // three quarters of the memory are always there
			edited(t, transitions.Replayed)(note(i - 5))
		}

		if n := traces(); n > 8 {
			t.Fatalf("after %d edits the order remembers %d, more than 8", i+1, n)
		}
	}
	now = now.Add(2 * time.Hour)

	order, _, err := s.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}
	e := edit("o-1", "late")
	e.Seen = order
	edited(t, transitions.Applied)(s.AddNote(t.Context(), e, transitions.Note{Text: "late"}))

	if n := traces(); n != 1 {
		t.Errorf("the next write must remove traces older than EditAge: %d traces, want 1", n)
	}
	now = now.Add(2 * time.Hour)

	if e.Seen, _, err = s.Get(t.Context(), "o-1"); err != nil {
		t.Fatal(err)
	}
	edited(t, transitions.Replayed)(s.AddNote(t.Context(), e, transitions.Note{Text: "late"})) // old, but still remembered
}

// TestAFullOrderStaysFarBelow400KB fills an order up to all of its bounds.
func TestAFullOrderStaysFarBelow400KB(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and many bytes")
	}

	s := newOrders(t)
	s.reconfigure(func(c *transitions.Config) { c.EditMemory = 64 })
	long := func(prefix string, n int) string { return prefix + strings.Repeat("x", n-len(prefix)) }
	s.place(t, "o-1")
	edited(t, transitions.Applied)(s.RemoveItem(t.Context(), edit("o-1", "r"), "mug"))

	for i := range 100 {
		edited(t, transitions.Applied)(s.AddNote(t.Context(), edit("o-1", fmt.Sprint("note", i)), transitions.Note{By: long("", 128), Text: long("", 1000)}))
	}

	for call := range 10 {
		lines := make([]transitions.Item, 100)
		for i := range lines {
			lines[i] = transitions.Item{SKU: long(fmt.Sprintf("%d-", i%97), 128), Quantity: 999_999, Price: 1_000_000}
		}
		edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", fmt.Sprint("items", call)), lines...))
	}

	address := transitions.Address{}
	for i := range 8 {
		address[fmt.Sprint(i)] = long("", 500)
	}

	for _, kind := range []string{"shipping", "billing"} {
		edited(t, transitions.Applied)(s.SetAddress(t.Context(), edit("o-1", kind), kind, address))
	}

	var limit *transitions.LimitError
	_, err := s.AddItems(t.Context(), edit("o-1", "one-more"), cup)
	if !errors.Is(err, transitions.ErrOrderFull) || !errors.As(err, &limit) || limit.What != "items" {
		t.Errorf("the 1001st line: %v", err)
	}

	if _, err = s.AddNote(t.Context(), edit("o-1", "one-more"), transitions.Note{Text: "x"}); !errors.Is(err, transitions.ErrOrderFull) {
		t.Errorf("the 101st note: %v", err)
	}

	if _, err = s.ChangeItem(t.Context(), edit("o-1", "dear"), transitions.Item{SKU: long("0-", 128), Quantity: 1_000_000, Price: 1_000_000_000}); !errors.Is(err, transitions.ErrOrderFull) {
		t.Errorf("a total beyond 10^15: %v", err)
	}

	if size := itemSize(s.Item(t, "o-1")); size > 310<<10 {
		t.Errorf("a full order has %d bytes", size)
	} else {
		t.Logf("a full order has %d bytes", size)
	}
}

// itemSize returns the size of an item by DynamoDB's rules:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
func itemSize(item map[string]types.AttributeValue) int {
	n := 0
	for name, v := range item {
		n += len(name) + valueSize(v)
	}

	return n
}

func valueSize(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return (len(strings.TrimRight(v.Value, "0"))+1)/2 + 1
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberM:
		return 3 + len(v.Value) + itemSize(v.Value)
	case *types.AttributeValueMemberL:
		n := 3 + len(v.Value)
		for _, e := range v.Value {
			n += valueSize(e)
		}

		return n
	}

	return 1
}

func TestInvalidEditsNameTheField(t *testing.T) {
	s := newOrders(t)
	ctx := t.Context()
	rows := []struct {
		field string
		call  func() (transitions.Result, error)
	}{
		{"orderId", func() (transitions.Result, error) { return s.AddItems(ctx, edit("a\nb", "e"), cup) }},
		{"eventId", func() (transitions.Result, error) { return s.AddItems(ctx, edit("o", ""), cup) }},
		{"items", func() (transitions.Result, error) { return s.AddItems(ctx, edit("o", "e")) }},
		{"items[1].quantity", func() (transitions.Result, error) {
			return s.AddItems(ctx, edit("o", "e"), cup, transitions.Item{SKU: "x"})
		}},
		{"item.price", func() (transitions.Result, error) {
			return s.ChangeItem(ctx, edit("o", "e"), transitions.Item{SKU: "x", Quantity: 1, Price: -1})
		}},
		{"sku", func() (transitions.Result, error) { return s.RemoveItem(ctx, edit("o", "e"), "") }},
		{"address kind", func() (transitions.Result, error) {
			return s.SetAddress(ctx, edit("o", "e"), "home", transitions.Address{"a": "b"})
		}},
		{"address", func() (transitions.Result, error) {
			return s.SetAddress(ctx, edit("o", "e"), "shipping", nil)
		}},
		{"address.city", func() (transitions.Result, error) {
			return s.SetAddress(ctx, edit("o", "e"), "shipping", transitions.Address{"city": strings.Repeat("secret", 100)})
		}},
		{"note.text", func() (transitions.Result, error) { return s.AddNote(ctx, edit("o", "e"), transitions.Note{}) }},
		{"ifMatch", func() (transitions.Result, error) {
			minus := int64(-1)
			return s.AddItems(ctx, transitions.Edit{OrderID: "o", EventID: "e", IfMatch: &minus}, cup)
		}},
	}
	for _, row := range rows {
		_, err := row.call()
		if !errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), row.field) {
			t.Errorf("got %v, want an invalid request that names %s", err, row.field)
		}

		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("an address is in the error: %v", err)
		}
	}
}

func TestAddressesAndNotesDoNotPrint(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	edited(t, transitions.Applied)(s.SetAddress(t.Context(), edit("o-1", "a"), "billing", transitions.Address{"street": "Secret Lane"}))

	r := edited(t, transitions.Applied)(s.AddNote(t.Context(), edit("o-1", "b"), transitions.Note{Text: "Secret word"}))
	for _, text := range []string{fmt.Sprint(*r.Order), fmt.Sprintf("%+v", *r.Order), fmt.Sprintf("%+v", r.Order.Notes), fmt.Sprintf("%#v", r.Order.Billing)} {
		if strings.Contains(text, "Secret") {
			t.Errorf("printed: %s", text)
		}
	}

	if r.Order.Billing["street"] != "Secret Lane" || r.Order.Notes[0].Text != "Secret word" || r.Order.Notes[0].At.IsZero() {
		t.Error("an address or a note is not read back as it was written")
	}
}

func TestAnOrderCreatedByAnotherProgramCanBeEdited(t *testing.T) {
	s := newOrders(t)
	if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: map[string]types.AttributeValue{
		"orderId": &types.AttributeValueMemberS{Value: "foreign"}, "orderState": &types.AttributeValueMemberS{Value: "PENDING"}}}); err != nil {
		t.Fatal(err)
	}

	for _, want := range []transitions.Verdict{transitions.Applied, transitions.Replayed} {
		edited(t, want)(s.AddNote(t.Context(), edit("foreign", "a"), transitions.Note{Text: "hello"}))
	}

	if r := edited(t, transitions.WrongState)(s.AddItems(t.Context(), edit("foreign", "b"), cup)); !strings.Contains(r.Reason, "no total") {
		t.Errorf("reason %q", r.Reason)
	}
}

// TestALostAnswerOfAnEditIsResolved loses the answer of an edit that was made.
func TestALostAnswerOfAnEditIsResolved(t *testing.T) {
	onVirtualTime(t, func(t *testing.T) {
		s := newOrders(t)
		s.place(t, "o-1")

		lost := s.Wire.Inject(embeddedtest.LoseAnswer("UpdateItem").Next(1))
		r := edited(t, transitions.Applied)(s.AddItems(t.Context(), edit("o-1", "a"), cup))
		if lost.Strikes() != 1 || len(r.Order.Items) != 2 || r.ContentVersion != 1 {
			t.Errorf("lost %d answers, order %+v", lost.Strikes(), r.Order)
		}
	})
}

// TestConcurrentEditsAreAllApplied lets 40 callers add and remove lines at once. Every
// addition is sent twice.
func TestConcurrentEditsAreAllApplied(t *testing.T) {
	s := newOrders(t)
	s.reconfigure(func(c *transitions.Config) { c.EditMemory, c.Attempts = 64, 100 })
	s.place(t, "o-1")

	var applied atomic.Int32
	var group sync.WaitGroup
	for g := range 40 {
		group.Go(func() {
			e, sku := edit("o-1", fmt.Sprint(g/2)), fmt.Sprint("sku-", g/2)

			r, err := s.AddItems(t.Context(), e, transitions.Item{SKU: sku, Quantity: 1, Price: 100})
			if err != nil || !r.Verdict.Done() {
				t.Errorf("add: %s, %v", r.Verdict, err)
			}

			if r.Verdict == transitions.Applied {
				applied.Add(1)
			}

			if g%4 == 0 {
				e.EventID, e.Seen = "remove-"+e.EventID, r.Order
				if r, err := s.RemoveItem(t.Context(), e, sku); err != nil || r.Verdict != transitions.Applied {
					t.Errorf("remove: %s, %v", r.Verdict, err)
				}
			}
		})
	}
	group.Wait()

	order, _, err := s.Get(t.Context(), "o-1")
	if err != nil || applied.Load() != 20 || len(order.Items) != 11 || order.Total.Amount != 2500+1000 || order.ContentVersion != 30 {
		t.Errorf("%d additions applied, order %+v, error %v", applied.Load(), order, err)
	}
}

// TestEditsFollowTheModel compares random edits with a plain list of lines.
func TestEditsFollowTheModel(t *testing.T) {
	s := newOrders(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		id := transitions.OrderID(fmt.Sprintf("o-%d", n))
		s.place(t, id)

		lines, version := []transitions.Item{mug}, int64(0)
		used := map[string]string{} // event id to content
		for range rapid.IntRange(1, 15).Draw(rt, "edits") {
			event := rapid.StringMatching(`[a-f]`).Draw(rt, "event")

			line := transitions.Item{SKU: rapid.SampledFrom([]string{"mug", "cup", "jar"}).Draw(rt, "sku"), Quantity: rapid.Int64Range(1, 3).Draw(rt, "quantity"), Price: 100}
			kind := rapid.SampledFrom([]string{"add", "change", "remove"}).Draw(rt, "kind")
			content := fmt.Sprint(kind, line)
			if kind == "remove" {
				content = kind + line.SKU
			}
			want := transitions.Applied

			at := -1
			for i := len(lines) - 1; i >= 0; i-- {
				if lines[i].SKU == line.SKU {
					at = i
				}
			}

			switch before, seen := used[event]; {
			case seen && before == content:
				want = transitions.Replayed
			case seen:
				want = transitions.Conflict
			case kind != "add" && at < 0:
				want = transitions.NotFound
			}

			if want == transitions.Applied {
				used[event], version = content, version+1

				switch kind {
				case "add":
					lines = append(lines, line)
				case "change":
					lines[at] = line
				case "remove":
					var kept []transitions.Item
					for _, l := range lines {
						if l.SKU != line.SKU {
							kept = append(kept, l)
						}
					}
					lines = kept
				}
			}

			got, err := s.apply(t.Context(), kind, edit(id, event), line)
			if err != nil || got.Verdict != want {
				rt.Fatalf("%s %+v under %s: %s, error %v, the model says %s", kind, line, event, got.Verdict, err, want)
			}

			total := int64(0)
			for _, l := range lines {
				total += l.Quantity * l.Price
			}

			if o := got.Order; o.Total.Amount != total || o.ContentVersion != version || !cmp.Equal(o.Items, lines) {
				rt.Fatalf("the order is %+v, the model %+v at version %d", o, lines, version)
			}
		}
	})
}

func (s *orders) apply(ctx context.Context, kind string, e transitions.Edit, line transitions.Item) (transitions.Result, error) {
	switch kind {
	case "add":
		return s.AddItems(ctx, e, line)
	case "change":
		return s.ChangeItem(ctx, e, line)
	}

	return s.RemoveItem(ctx, e, line.SKU)
}

// TestATotalNearTheLargestNumberIsFull: Create sets no bound to a total, and the sum with
// the new lines would overflow.
func TestATotalNearTheLargestNumberIsFull(t *testing.T) {
	s := newOrders(t)
	n := s.newOrder("o-1", math.MaxInt64)
	if _, err := s.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	var limit *transitions.LimitError
	if result, err := s.AddItems(t.Context(), edit("o-1", "e"), cup); !errors.As(err, &limit) || limit.What != "total.amount" || transitions.Retryable(err) {
		t.Errorf("%s, %v, want a LimitError of total.amount", result.Verdict, err)
	}

	if err := s.addIn(t, edit("o-1", "e"), cup); !errors.Is(err, transitions.ErrOrderFull) {
		t.Errorf("in a transaction: %v, want ErrOrderFull", err)
	}
}
