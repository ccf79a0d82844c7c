package transitions_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// putRow writes a row of the journal of o-1 with further attributes.
func (s *orders) putRow(t *testing.T, id, previous int, further map[string]types.AttributeValue) {
	t.Helper()
	number := func(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

	row := map[string]types.AttributeValue{"orderId": text("o-1"), "transitionId": number(id), "previousId": number(previous), "definitionVersion": number(1),
		"event": text("hold"), "fromState": text("PENDING"), "toState": text("ON_HOLD"), "at": number(1_790_000_000_000)}
	row["entry"] = text(s.entry(t, "o-1", fmt.Sprint(id)))
	for name, v := range further {
		row[name] = v
	}

	if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.JournalTable), Item: row}); err != nil {
		t.Fatal(err)
	}
}

// rows reads the journal of o-1.
func (s *orders) rows(t *testing.T, after transitions.TransitionID) (rows []transitions.Row) {
	t.Helper()

	for row, err := range s.RowsOf(t.Context(), "o-1", after) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}

	return rows
}

// A row continues the chain that ends with the id before it. The first row of an order that
// another program has moved begins one, and a row that stands for lost ones covers them.
func TestARowFollowsWhatItNames(t *testing.T) {
	yes := &types.AttributeValueMemberBOOL{Value: true}
	for about, row := range map[string]struct {
		further map[string]types.AttributeValue
		follows []transitions.TransitionID
	}{
		"a row":                 {nil, []transitions.TransitionID{4}},
		"an adopted row":        {map[string]types.AttributeValue{"adopted": yes}, []transitions.TransitionID{0, 4}},
		"a row for lost ones":   {map[string]types.AttributeValue{"lost": yes}, []transitions.TransitionID{4, 5, 6}},
		"lost, and adopted too": {map[string]types.AttributeValue{"lost": yes, "adopted": yes}, []transitions.TransitionID{0, 4, 5, 6}},
	} {
		s := newOrders(t)
		s.place(t, "o-1")
		s.putRow(t, 7, 4, row.further)

		var follows []transitions.TransitionID
		for last := range transitions.TransitionID(7) {
			if s.rows(t, 0)[0].Follows(last) {
				follows = append(follows, last)
			}
		}

		if fmt.Sprint(follows) != fmt.Sprint(row.follows) {
			t.Errorf("%s with the id 4 before it follows %v, want %v", about, follows, row.follows)
		}
	}
}

// The rows come after the id that is given. An error is the last element.
func TestRowsComeAfterAnID(t *testing.T) {
	s := newOrders(t)
	s.place(t, "o-1")

	for id := 1; id <= 3; id++ {
		s.putRow(t, id, id-1, nil)
	}

	for after, want := range []int{3, 2, 1, 0} {
		if rows := s.rows(t, transitions.TransitionID(after)); len(rows) != want || want > 0 && rows[0].ID != transitions.TransitionID(after+1) {
			t.Errorf("after %d: %+v", after, rows)
		}
	}
	s.putRow(t, 2, 1, map[string]types.AttributeValue{"event": &types.AttributeValueMemberBOOL{Value: true}})

	var facts transitions.Facts

	err := facts.Rebuild(s.RowsOf(t.Context(), "o-1", 0))
	var chain *transitions.JournalError
	if !errors.As(err, &chain) || !chain.Unreadable || chain.At != 2 || errors.Is(err, transitions.ErrJournalBroken) || !strings.Contains(err.Error(), "journal of order o-1: journal row 2: ") {
		t.Errorf("a row that cannot be read: %v", err)
	}

	if facts.TransitionID != 1 {
		t.Errorf("the facts up to it: %+v", facts)
	}
	s.putRow(t, 2, 9, nil)

	err = new(transitions.Facts).Rebuild(s.RowsOf(t.Context(), "o-1", 0))
	if !errors.Is(err, transitions.ErrJournalBroken) || !strings.Contains(err.Error(), "broken at transition 2: it follows transition 9, but the row before it is 1") {
		t.Errorf("a row that does not follow: %v", err)
	}
	s.reconfigure(func(c *transitions.Config) { c.JournalTable = "" })

	count := 0
	for _, err := range s.RowsOf(t.Context(), "o-1", 0) {
		if count++; err == nil || !strings.Contains(err.Error(), "no journal table is configured") {
			t.Errorf("without a journal: %v", err)
		}
	}

	if count != 1 {
		t.Errorf("without a journal: %d elements", count)
	}
}

// The ring gives the rows since an id, and says whether these are all.
func TestTheRingGivesTheRowsSinceAnID(t *testing.T) {
	s := newOrders(t)
	moved(t, s) // to transition 12; the ring holds 5 to 12

	order, _, err := s.Get(t.Context(), "o-1")
	if err != nil || order.TransitionID != 12 {
		t.Fatal(order, err)
	}

	for last, want := range map[transitions.TransitionID]struct {
		rows     int
		complete bool
	}{0: {8, false}, 3: {8, false}, 4: {8, true}, 5: {7, true}, 11: {1, true}, 12: {0, true}, 13: {0, true}} {
		rows, complete := order.Since(last)
		if len(rows) != want.rows || complete != want.complete {
			t.Errorf("since %d: %d rows, complete %v", last, len(rows), complete)
		}

		for i, row := range rows {
			version, previous := 0, row.ID-1
			if row.ID == 12 {
				version = 1
			}

			if i == 0 {
				previous = last
			}

			if row.DefinitionVersion != version || row.PreviousID != previous || row.ID != 12-transitions.TransitionID(len(rows)-1-i) {
				t.Errorf("since %d, row %d: %+v", last, i, row)
			}
		}
	}
}

// If the condition of Restore's write fails, the order counts as restored only if its state and
// its id equal the journal's.
func TestRestoreRecognizesOnlyWhatItWrites(t *testing.T) {
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

	for about, row := range map[string]struct {
		meanwhile map[string]types.AttributeValue // of the item; none to delete it
		want      error
	}{
		"the same":          {map[string]types.AttributeValue{"orderState": text("DELIVERED"), "transitionId": &types.AttributeValueMemberN{Value: "12"}}, nil},
		"another state":     {map[string]types.AttributeValue{"orderState": text("SHIPPED"), "transitionId": &types.AttributeValueMemberN{Value: "12"}}, transitions.ErrContended},
		"another id":        {map[string]types.AttributeValue{"orderState": text("DELIVERED"), "transitionId": &types.AttributeValueMemberN{Value: "11"}}, transitions.ErrContended},
		"nothing to decode": {map[string]types.AttributeValue{"orderState": text("DELIVERED"), "transitionId": text("12")}, transitions.ErrContended},
		"no order":          {nil, transitions.ErrContended},
	} {
		s := newOrdersIn(t, transitions.JournalTransactional)
		moved(t, s)
		s.putBack(t)

		done := false
		s.Wire.Before(func(c *embeddedtest.Call) error {
			if !c.Is("UpdateItem") || done {
				return nil
			}
			done = true

			if row.meanwhile == nil {
				_, err := s.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.OrdersTable), Key: map[string]types.AttributeValue{"orderId": text("o-1")}})
				return err
			}
			row.meanwhile["orderId"] = text("o-1")
			_, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: row.meanwhile})

			return err
		})

		if r, err := s.Restore(t.Context(), "o-1", true); !errors.Is(err, row.want) || r.Written != (err == nil) {
			t.Errorf("%s: written %v, %v", about, r.Written, err)
		}
	}
}

// A restored order was last changed when its newest transition was made.
func TestARestoredOrderIsAsOldAsItsNewestTransition(t *testing.T) {
	s := newOrdersIn(t, transitions.JournalTransactional)
	moved(t, s)

	before, _, err := s.Get(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}
	s.putBack(t)
	s.restored(t, true)

	if after, _, err := s.Get(t.Context(), "o-1"); err != nil || !after.UpdatedAt.Equal(before.UpdatedAt) {
		t.Errorf("%s, was %s, %v", after.UpdatedAt, before.UpdatedAt, err)
	}
}

// beforeMigration runs do before each write of a migration, and returns how often it did.
func (s *orders) beforeMigration(do func(n int)) *int {
	n, inside := new(int), false
	s.Wire.Before(func(c *embeddedtest.Call) error {
		if c.Is("UpdateItem") && !inside {
			inside = true
			*n++
			do(*n)
			inside = false
		}

		return nil
	})

	return n
}

// A migration that is overtaken is planned again, and ends when there is nothing left to do,
// when the order is gone, or after Config.Attempts.
func TestAMigrationThatIsOvertaken(t *testing.T) {
	for about, row := range map[string]struct {
		meanwhile func(t *testing.T, s *orders, n int)
		want      error
		ofAll     transitions.MigratedOrders // of MigrateAll, which passes over such orders
		writes    int
	}{
		"another migrates the order": {func(t *testing.T, s *orders, _ int) {
			order, _, err := s.Get(t.Context(), "o-1")
			if _, moved, migrateErr := s.Migrate(t.Context(), ways(t, 1, 2), order, transitions.Cause{}); !moved || err != nil || migrateErr != nil {
				t.Error(moved, err, migrateErr)
			}
		}, nil, transitions.MigratedOrders{}, 1},
		"the order is deleted": {func(t *testing.T, s *orders, _ int) {
			_, err := s.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(shop.OrdersTable),
				Key: map[string]types.AttributeValue{"orderId": &types.AttributeValueMemberS{Value: "o-1"}}})
			if err != nil {
				t.Error(err)
			}
		}, transitions.ErrUnknownOrder, transitions.MigratedOrders{Gone: 1}, 1},
		"it moves each time": {func(t *testing.T, s *orders, n int) {
			old := s.Shop.Orders(func(c *transitions.Config) { c.JournalTable, c.Definition = "", renamed(t, 1) })

			event := []workflow.Event{"release", "hold"}[n%2]
			if r, err := old.Apply(t.Context(), given("o-1", event, transitions.TransitionID(n+1))); err != nil || r.Verdict != transitions.Applied {
				t.Error(r.Verdict, err)
			}
		}, transitions.ErrContended, transitions.MigratedOrders{Busy: 1, Left: []transitions.OrderID{"o-1"}}, 8},
	} {
		for _, all := range []bool{false, true} {
			s := newOrders(t)
			ofVersion1(t, s)

			order, _, err := s.Get(t.Context(), "o-1")
			if err != nil {
				t.Fatal(err)
			}
			writes := s.beforeMigration(func(n int) { row.meanwhile(t, s, n) })

			if !all {
				_, moved, err := s.Migrate(t.Context(), ways(t, 1, 2), order, transitions.Cause{})
				if moved || !errors.Is(err, row.want) || err != nil && !strings.HasPrefix(err.Error(), "migrate order o-1 from version 1 to 2: ") {
					t.Errorf("%s: moved %v, %v", about, moved, err)
				}
			} else if found, err := s.MigrateAll(t.Context(), ways(t, 1, 2), transitions.Sweep{Segments: 1}, transitions.Cause{}); err != nil || !reflect.DeepEqual(found, row.ofAll) {
				t.Errorf("%s: %+v, %v", about, found, err)
			}

			if *writes != row.writes {
				t.Errorf("%s: %d writes", about, *writes)
			}
		}
	}
}

// TestOrdersThatComeDuringAMigrationAreMigrated: a worker of the former version places one behind the first pass.
func TestOrdersThatComeDuringAMigrationAreMigrated(t *testing.T) {
	s := newOrders(t)
	ofVersion1(t, s)

	s.beforeMigration(func(n int) {
		if n > 1 {
			return
		}
		old := s.Shop.Orders(func(c *transitions.Config) { c.JournalTable, c.Definition = "", renamed(t, 1) })

		if _, err := old.Create(t.Context(), transitions.NewOrder{ID: "o-2", Total: transitions.Money{Amount: 1, Currency: "EUR"}}); err != nil {
			t.Error(err)
		}
	})

	found, err := s.MigrateAll(t.Context(), ways(t, 1, 2), transitions.Sweep{Segments: 1}, transitions.Cause{})
	if want := (transitions.MigratedOrders{Moved: 2}); err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("%+v, %v", found, err)
	}

	if order, _, err := s.Get(t.Context(), "o-2"); err != nil || order.DefinitionVersion != 2 {
		t.Errorf("%+v, %v", order, err)
	}
}

// TestEachBusyOrderIsCounted: others move all of them before each attempt.
func TestEachBusyOrderIsCounted(t *testing.T) {
	s := newOrders(t)
	s.runs(t, 1)

	ids := []transitions.OrderID{"o-1", "o-2"}
	for _, id := range ids {
		if _, err := s.Create(t.Context(), transitions.NewOrder{ID: id, Total: transitions.Money{Amount: 1, Currency: "EUR"}}); err != nil {
			t.Fatal(err)
		}
	}
	s.runs(t, 2)
	old := s.Shop.Orders(func(c *transitions.Config) { c.JournalTable, c.Definition = "", renamed(t, 1) })

	s.beforeMigration(func(n int) {
		for _, id := range ids {
			event := []workflow.Event{"release", "hold"}[n%2]
			if r, err := old.Apply(t.Context(), given(id, event, transitions.TransitionID(n+1))); err != nil || r.Verdict != transitions.Applied {
				t.Error(r.Verdict, err)
			}
		}
	})

	found, err := s.MigrateAll(t.Context(), ways(t, 1, 2), transitions.Sweep{Segments: 1}, transitions.Cause{})
	slices.Sort(found.Left)

	if want := (transitions.MigratedOrders{Busy: 2, Left: ids}); err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("%+v, %v", found, err)
	}
}

// An order that cannot be read is passed over and named.
func TestAnOrderThatCannotBeReadIsNotMigrated(t *testing.T) {
	s := newOrders(t)
	ofVersion1(t, s)

	_, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(shop.OrdersTable), Item: map[string]types.AttributeValue{
		"orderId": &types.AttributeValueMemberS{Value: "o-2"}, "orderState": &types.AttributeValueMemberBOOL{Value: true},
		"definitionVersion": &types.AttributeValueMemberN{Value: "1"}}})
	if err != nil {
		t.Fatal(err)
	}

	found, err := s.MigrateAll(t.Context(), ways(t, 1, 2), transitions.Sweep{}, transitions.Cause{})
	if want := (transitions.MigratedOrders{Moved: 1, Unreadable: 1, Left: []transitions.OrderID{"o-2"}}); err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("%+v, %v", found, err)
	}

	order := &transitions.Order{ID: "o-1", State: "SOLD", TransitionID: 1, DefinitionVersion: 1}
	if _, moved, err := s.Migrate(t.Context(), ways(t, 1, 2), order, transitions.Cause{}); err == nil || moved {
		t.Errorf("a state without a mapping: %v, %v", moved, err)
	}
}

// What is at its bound is valid, and what is beyond it names the field and the rule.
func TestOrdersAndIDsHaveBounds(t *testing.T) {
	const largest = 1_000_000_000_000_000
	s := newOrders(t)

	most := transitions.NewOrder{ID: "o-1", Items: []transitions.Item{{SKU: "ring", Quantity: 1_000_000, Price: 1_000_000_000}},
		Total: transitions.Money{Amount: largest, Currency: "EUR"}}
	if r, err := s.Create(t.Context(), most); err != nil || r.Verdict != transitions.Applied {
		t.Fatal(r, err)
	}

	_, err := s.AddItems(t.Context(), edit("o-1", "e"), transitions.Item{SKU: "cup", Quantity: 1, Price: 1})
	if what := limitOf(t, err); what != "total.amount" {
		t.Errorf("a cent more: %q", what)
	}

	if o, _, err := s.Get(t.Context(), "o-1"); err != nil || o.Total.Amount != largest {
		t.Errorf("%+v, %v", o.Total, err)
	}

	for skus, valid := range map[int]bool{97: true, 98: false} {
		n := transitions.NewOrder{ID: "o-2", Total: transitions.Money{Currency: "EUR"}}
		for i := range skus {
			n.Items = append(n.Items, transitions.Item{SKU: fmt.Sprint("sku-", i), Quantity: 1})
		}

		if err := n.Validate(); valid != (err == nil) || !valid && !strings.Contains(err.Error(), fmt.Sprintf("items: %d different SKUs, at most", skus)) {
			t.Errorf("%d SKUs: %v", skus, err)
		}
	}

	if err := (transitions.NewOrder{Total: transitions.Money{Currency: "EUR"}}).Validate(); !errors.Is(err, transitions.ErrInvalidRequest) {
		t.Errorf("no id: %v", err)
	}

	for id, valid := range map[transitions.TransitionID]bool{1<<53 - 1: true, 1 << 53: false} {
		if r, err := s.Apply(t.Context(), given("o-1", workflow.Hold, id)); valid != (err == nil) || !valid && !errors.Is(err, transitions.ErrInvalidRequest) {
			t.Errorf("transition %d: %s, %v", id, r.Verdict, err)
		}
	}
}

// An order knows the parcels that have left.
func TestAnOrderKnowsItsParcels(t *testing.T) {
	s := newOrders(t)
	paid(t, s)
	s.sends(t, parcel("p-1", pieces("mug", 1)), transitions.Applied)

	order, _, err := s.Get(t.Context(), "o-1")
	if err != nil || order.Parcels() != 1 || !order.HasParcel("p-1") || order.HasParcel("p-2") {
		t.Errorf("%d parcels, %v", order.Parcels(), err)
	}
}

// An order that has moved to a state without a mapping since it was read is one more without a mapping.
func TestMigrateAllPassesOverAnOrderThatHasLostItsMapping(t *testing.T) {
	s := newOrders(t)
	ofVersion1(t, s)

	older := s.Shop.Orders(func(c *transitions.Config) { c.JournalTable, c.Definition = "", renamed(t, 1) })
	s.reconfigure(func(c *transitions.Config) { c.Definition = renamed(t, 3) }) // without HELD

	ways, err := workflow.NewMigrations([]*workflow.Definition{renamed(t, 1), renamed(t, 3)}, []workflow.Migration{{From: 1, To: 3}})
	if err != nil {
		t.Fatal(err)
	}

	s.beforeMigration(func(n int) {
		if r, err := older.Apply(t.Context(), given("o-1", "hold", 2)); n == 1 && (err != nil || r.Verdict != transitions.Applied) {
			t.Error(r.Verdict, err)
		}
	})

	if found, err := s.MigrateAll(t.Context(), ways, transitions.Sweep{Segments: 1}, transitions.Cause{}); err != nil || found.Moved != 0 || found.Unmapped != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestAnOrderThatAnOlderWorkerMovesIsMigratedAgain: its move makes the order one of the former version, and the second
// migration is a transition of its own.
func TestAnOrderThatAnOlderWorkerMovesIsMigratedAgain(t *testing.T) {
	s := newOrders(t)
	ofVersion1(t, s)

	older := s.Shop.Orders(func(c *transitions.Config) {
		c.JournalTable, c.Definition, c.Versions = "", renamed(t, 1), []int{2}
	})

	for n := range 2 {
		if found, err := s.MigrateAll(t.Context(), ways(t, 1, 2), transitions.Sweep{}, transitions.Cause{}); err != nil || found.Moved != 1 {
			t.Fatalf("migration %d: %+v, %v", n+1, found, err)
		}

		order, _, err := s.Get(t.Context(), "o-1")
		if err != nil || order.DefinitionVersion != 2 || order.TransitionID != transitions.TransitionID(2*n+2) {
			t.Fatalf("%+v, %v", order, err)
		}

		if n == 0 {
			if r, err := older.Apply(t.Context(), given("o-1", "hold", 3)); err != nil || r.Verdict != transitions.Applied {
				t.Fatal(r.Verdict, err)
			}
		}
	}
}
