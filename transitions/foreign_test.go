package transitions_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"ratchet/internal/dynamo"
	"ratchet/once/txn"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// foreignParts are attributes of another program's items.
func foreignParts() map[string]types.AttributeValue {
	number := &types.AttributeValueMemberN{Value: "12"}
	member := func(name string, v types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{name: v}}
	}

	return map[string]types.AttributeValue{
		"createdAt":         text("2026-11-21T12:00:00Z"),
		"updatedAt":         text("2026-11-21T12:00:00Z"),
		"enteredAt":         text("2026-11-21T12:00:00Z"),
		"previousState":     number,
		"definitionVersion": text("v1"),
		"customer":          member("name", text("x")),
		"items":             &types.AttributeValueMemberL{Value: []types.AttributeValue{member("id", text("x"))}},
		"total":             number,
		"metadata":          member("n", number),
		"notes":             text("x"),
		"shippingAddress":   text("x"),
		"contentVersion":    text("x"),
		"processedEvents":   &types.AttributeValueMemberL{},
		"parcels":           number,
		"placeHash":         number,
		"incarnation":       number,
		"lives":             text("x"),
		"cause":             number,
	}
}

// TestPartsOfAnotherProgramDoNotStandInTheWay: in both modes an order of another program moves, its
// change is read, the part is named, and no attribute changes its type.
func TestPartsOfAnotherProgramDoNotStandInTheWay(t *testing.T) {
	for name, value := range foreignParts() {
		for _, mode := range []transitions.JournalMode{transitions.JournalByStream, transitions.JournalTransactional} {
			s := newOrdersIn(t, mode)
			before := map[string]types.AttributeValue{"orderId": text("o-1"), "orderState": text("PENDING"), name: value}

			if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: before}); err != nil {
				t.Fatal(err)
			}

			result := s.want(t, given("o-1", workflow.Pay, 1), transitions.Applied)
			if !slices.Equal(result.Order.Unreadable, []string{name}) {
				t.Errorf("%s, %s: the answer names %v", name, mode, result.Order.Unreadable)
			}
			after := s.Item(t, "o-1")

			if fmt.Sprintf("%T", after[name]) != fmt.Sprintf("%T", value) {
				t.Errorf("%s, %s: was a %T, is a %T", name, mode, value, after[name])
			}

			if c, grew, err := (transitions.Mapping{}).FromRecord(before, after); err != nil || !grew || c.Transition.Event != workflow.Pay {
				t.Errorf("%s, %s: the change is %+v, %t, %v", name, mode, c.Transition, grew, err)
			}
			s.want(t, given("o-1", workflow.Pay, 1), transitions.Replayed)
			s.want(t, given("o-1", workflow.Ship, 2), transitions.Applied)
		}
	}
}

// TestAPartThatIsNeededIsNamed: a total that cannot be read is not a total of 0, and lines that cannot be
// read are not changed.
func TestAPartThatIsNeededIsNamed(t *testing.T) {
	for name, call := range map[string]func(*orders) error{
		"total": func(s *orders) error {
			order, _, err := s.Get(t.Context(), "o-1")
			return errors.Join(err, order.Readable("items", "total"))
		},
		"items": func(s *orders) error { _, err := s.ChangeItem(t.Context(), edit("o-1", "e"), cup); return err },
		"parcels": func(s *orders) error {
			s.put(t, "orderState", text("PAYMENT_RECEIVED"))
			_, err := s.ShipParcel(t.Context(), parcel("p", transitions.ParcelLine{SKU: "mug", Quantity: 1}))
			return err
		},
		"placeHash":       func(s *orders) error { _, err := s.Create(t.Context(), s.newOrder("o-1", 5)); return err },
		"processedEvents": func(s *orders) error { _, err := s.RemoveItem(t.Context(), edit("o-1", "e"), "mug"); return err },
	} {
		s := newOrders(t)
		s.place(t, "o-1")
		s.put(t, name, foreignParts()[name])

		if err := call(s); !errors.Is(err, transitions.ErrUnreadable) || !containsName(err, name) || transitions.Retryable(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The attributes that say which requests have a row cannot be left out of a transition: their order is refused
// by a writer with a table of requests, and moved by one without.
func TestWhatTheTableOfRequestsNeedsIsNamed(t *testing.T) {
	for _, name := range []string{"reqAt", "reqAfter"} {
		for _, mode := range []transitions.JournalMode{transitions.JournalByStream, transitions.JournalTransactional} {
			s := newOrdersIn(t, mode)
			s.place(t, "o-1")
			s.put(t, name, text("x"))

			result, err := s.Apply(t.Context(), given("o-1", workflow.Pay, 2))
			if !errors.Is(err, transitions.ErrUnreadable) || !containsName(err, name) || transitions.Retryable(err) {
				t.Errorf("%s, %s: %+v, %v", name, mode, result, err)
			}

			if after := s.Item(t, "o-1"); after[name].(*types.AttributeValueMemberS).Value != "x" || dynamo.Number(after, "transitionId") != 1 {
				t.Errorf("%s, %s: now %v", name, mode, after)
			}

			s.forgetRequests()
			s.want(t, given("o-1", workflow.Pay, 2), transitions.Applied)
		}
	}
}

// TestABlindEditLeavesAPartOfAnotherProgramAlone: an edit that is sent without a read names the part that it
// cannot change, alone and in a transaction, and changes nothing.
func TestABlindEditLeavesAPartOfAnotherProgramAlone(t *testing.T) {
	add := func(s *orders) error { _, err := s.AddItems(t.Context(), edit("o-1", "e"), cup); return err }
	addIn := func(s *orders) error { return s.inOneTransaction(t, edit("o-1", "e"), cup) }
	note := func(s *orders) error {
		_, err := s.AddNote(t.Context(), edit("o-1", "e"), transitions.Note{Text: "x"})
		return err
	}
	address := func(s *orders) error {
		_, err := s.SetAddress(t.Context(), edit("o-1", "e"), "shipping", transitions.Address{"city": "x"})
		return err
	}
	texts := &types.AttributeValueMemberL{Value: []types.AttributeValue{text("x")}}

	for _, row := range []struct {
		name  string
		value types.AttributeValue
		calls []func(*orders) error
	}{
		{"items", text("x"), []func(*orders) error{add, addIn}},
		{"items", texts, []func(*orders) error{add, addIn}},
		{"items", foreignParts()["items"], []func(*orders) error{add, addIn}},
		{"total", num(12), []func(*orders) error{add, addIn}},
		{"notes", text("x"), []func(*orders) error{note}},
		{"notes", texts, []func(*orders) error{note}},
		{"shippingAddress", text("x"), []func(*orders) error{address}},
		{"contentVersion", text("x"), []func(*orders) error{add, addIn, note, address}},
		{"processedEvents", texts, []func(*orders) error{add, addIn, note, address}},
	} {
		for i, call := range row.calls {
			s := newOrders(t)
			s.place(t, "o-1")
			s.put(t, row.name, row.value)
			before := s.Item(t, "o-1")

			if err := call(s); !errors.Is(err, transitions.ErrUnreadable) || !containsName(err, row.name) || transitions.Retryable(err) {
				t.Errorf("%s %T, call %d: %v", row.name, row.value, i, err)
			}

			if diff := cmp.Diff(before, s.Item(t, "o-1"), attributes); diff != "" {
				t.Errorf("%s %T, call %d has changed the order:\n%s", row.name, row.value, i, diff)
			}
		}
	}
}

// inOneTransaction adds the line in a transaction of its own.
func (s *orders) inOneTransaction(t *testing.T, e transitions.Edit, line transitions.Item) error {
	t.Helper()

	add, err := s.AddItemsIn(e, line)
	if err != nil {
		return err
	}

	w, err := txn.New(txn.Config{DynamoDB: s.DB})
	if err != nil {
		t.Fatal(err)
	}
	var tx txn.Transaction
	add(&tx)

	return w.Write(t.Context(), &tx)
}

// TestAMigrationLeavesPartsOfAnotherProgramAlone in both modes, and names the ring if it is another's.
func TestAMigrationLeavesPartsOfAnotherProgramAlone(t *testing.T) {
	inBothModes(t, func(t *testing.T, newOrders maker) {
		for _, name := range []string{"updatedAt", "previousState", "enteredAt", "recent"} {
			s := newOrders(t)
			s.runs(t, 1)
			s.place(t, "o-1")
			s.want(t, given("o-1", "hold", 2), transitions.Applied)
			value := types.AttributeValue(&types.AttributeValueMemberL{})
			s.put(t, name, value)
			s.runs(t, 2)

			order, _, err := s.Get(t.Context(), "o-1")
			if err != nil {
				t.Fatal(err)
			}
			after, moved, err := s.Migrate(t.Context(), ways(t, 1, 2), order, transitions.Cause{})

			switch {
			case name == "recent":
				if !errors.Is(err, transitions.ErrUnreadable) || !containsName(err, name) {
					t.Errorf("%s: %v", name, err)
				}
			case err != nil || !moved || after.State != "HELD" || after.DefinitionVersion != 2:
				t.Errorf("%s: %t, %v", name, moved, err)
			}

			if v := s.Item(t, "o-1")[name]; fmt.Sprintf("%T", v) != fmt.Sprintf("%T", value) {
				t.Errorf("%s is a %T", name, v)
			}
		}
	})
}

func containsName(err error, name string) bool {
	return err != nil && strings.Contains(err.Error(), "attribute "+name+" ")
}

// TestABrokenSlotIsNoEvidence: what the slot held is looked for in the journal.
func TestABrokenSlotIsNoEvidence(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	s.place(t, "o-1")
	s.want(t, keyed("o-1", workflow.Pay, "k"), transitions.Applied)

	recent := s.Item(t, "o-1")["recent"].(*types.AttributeValueMemberM)
	recent.Value["s2"] = text("damaged")
	s.put(t, "recent", recent)

	s.want(t, keyed("o-1", workflow.Pay, "k"), transitions.Replayed)
	s.want(t, keyed("o-1", workflow.Ship, "l"), transitions.Applied)
	s.reconfigure(func(c *transitions.Config) { c.JournalTable = "" })

	if r, err := s.Apply(t.Context(), given("o-1", workflow.Pay, 2)); !errors.Is(err, transitions.ErrEvidenceGone) {
		t.Errorf("without a journal: %s, %v", r.Verdict, err)
	}
}

// TestALoweredMemoryShrinks: an order that remembers more edits than it may takes edits, and forgets
// the oldest over several of them.
func TestALoweredMemoryShrinks(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")
	s.reconfigure(func(c *transitions.Config) { c.EditMemory = 64 })

	note := func(n int) {
		t.Helper()
		edited(t, transitions.Applied)(s.AddNote(t.Context(), edit("o-1", fmt.Sprint("n-", n)), transitions.Note{Text: "x"}))
	}
	for n := range 64 {
		note(n)
	}
	s.reconfigure(func(c *transitions.Config) { c.EditMemory = 4 })

	for n := range 8 {
		note(100 + n)
	}

	if n := len(s.Item(t, "o-1")["processedEvents"].(*types.AttributeValueMemberM).Value); n > 2*4 {
		t.Errorf("%d members are left", n)
	}
}

// TestACauseOfAnotherProgramStays: neither a transition without details nor one with details touches it, blind or
// not; an edit leaves the attribute of its own cause alone, too.
func TestACauseOfAnotherProgramStays(t *testing.T) {
	for _, mode := range []transitions.JournalMode{transitions.JournalByStream, transitions.JournalTransactional} {
		s := newOrdersIn(t, mode)
		s.place(t, "o-1")
		s.put(t, "cause", foreignParts()["metadata"])
		s.put(t, "editCause", num(1))

		r := given("o-1", workflow.Hold, 2)
		r.Cause = transitions.Cause{Code: "c", Text: "why", Actor: "cli:ada"}
		if result := s.want(t, r, transitions.Applied); result.Transition.Cause.Code != "c" {
			t.Errorf("%s: the cause is %+v", mode, result.Transition.Cause)
		}

		e := edit("o-1", "e")
		e.Cause = r.Cause
		if result, err := s.AddItems(t.Context(), e, cup); err != nil || result.Verdict != transitions.Applied {
			t.Errorf("%s: the edit: %v, %v", mode, result.Verdict, err)
		}
		s.want(t, given("o-1", workflow.Release, 3), transitions.Applied)

		after := s.Item(t, "o-1")
		if fmt.Sprintf("%T %T", after["cause"], after["editCause"]) != "*types.AttributeValueMemberM *types.AttributeValueMemberN" {
			t.Errorf("%s: cause is %T, editCause %T", mode, after["cause"], after["editCause"])
		}
	}
}

// TestRenewLeavesNamesOfAnotherProgramAlone: an order in which another program uses the names has no name for its
// life, and gets none.
func TestRenewLeavesNamesOfAnotherProgramAlone(t *testing.T) {
	for name, value := range map[string]types.AttributeValue{"incarnation": text("a/b"), "lives": text("x")} {
		s := newOrders(t)
		s.place(t, "o-1")
		s.put(t, name, value)

		order, _, err := s.Get(t.Context(), "o-1")
		if err != nil {
			t.Fatal(err)
		}

		if key := order.EffectKey(1, "ship"); strings.Count(key, "/") != 3 {
			t.Errorf("%s: the key is %s", name, key)
		}
		before := s.Item(t, "o-1")

		if renewed, err := s.Renew(t.Context(), order); renewed || !errors.Is(err, transitions.ErrUnreadable) {
			t.Errorf("%s: renewed %t, %v", name, renewed, err)
		}

		if diff := cmp.Diff(before, s.Item(t, "o-1"), attributes); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
