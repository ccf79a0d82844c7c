package system

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/transitions"
	"ratchet/workflow"
)

// due returns the due rows of an order. It wants nothing in them but keys, and numbers of the package.
func (e *ended) due(order string) (rows []string) {
	e.t.Helper()

	out, err := e.Backend.DynamoDB.Scan(e.t.Context(), &dynamodb.ScanInput{TableName: &e.Backend.Tables.OrdersDue})
	if err != nil {
		e.t.Fatal(err)
	}

	for _, item := range out.Items {
		text := textOf(e.t, item)
		if !strings.Contains(text, "#"+order+"#") {
			continue
		}
		rows = append(rows, text)

		for _, name := range slices.Sorted(maps.Keys(item)) {
			if !slices.Contains([]string{"shard", "due", "attempts", "revision"}, name) {
				e.t.Errorf("a due row has %s: %s", name, text)
			}
		}

		if strings.Contains(text, person) {
			e.t.Errorf("a due row has something of the person: %s", text)
		}
	}

	return rows
}

// TestDueRowsHoldNothingOfAPerson: ids and times only. An order that has ended has none when it can be erased, and a record that comes
// late brings none back for longer than its time.
func TestDueRowsHoldNothingOfAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t)

		order := transitions.NewOrder{
			ID: "o-2", Total: transitions.Money{Amount: 500, Currency: "EUR"}, Customer: person + "-customer", Reference: person + "-reference",
			Shipping: transitions.Address{"name": person + "-shipping"}, Metadata: transitions.Metadata{"phone": person + "-metadata"},
			Own: transitions.Attributes{"nickname": text(person + "-own")}, Cause: because("place"),
		}
		if _, err := e.Backend.Orders.Create(t.Context(), order); err != nil {
			t.Fatal(err)
		}
		e.until("the due row of an order that time expires", func() bool { return len(e.due("o-2")) == 1 })

		e.Apply(transitions.Request{OrderID: "o-2", Event: workflow.Cancel, RequestID: "cancel", Cause: because("cancel")}, transitions.Applied)
		e.until("no due row of an order that has ended", func() bool { return len(e.due("o-2"))+len(e.due("o-1")) == 0 })
		settle()

		for _, id := range []transitions.OrderID{"o-1", "o-2"} {
			if _, err := e.eraser().Erase(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		settle()

		if rows := append(e.due("o-1"), e.due("o-2")...); len(rows) != 0 {
			t.Errorf("after the erasure: %s", rows)
		}

		// All records come again, from before the erasure.
		for _, h := range e.Backend.Handlers() {
			for _, r := range e.records {
				if h.Name != "timers" {
					continue
				}

				if err := h.Handle(t.Context(), r); err != nil {
					t.Error(err)
				}
			}
		}
		time.Sleep(term + 2*time.Minute)

		if rows := e.due("o-1"); len(rows) != 0 {
			t.Errorf("after late records: %s", rows)
		}

		for table, items := range e.tables() {
			if table == "orders-due" {
				t.Errorf("table %s has %s", table, items)
			}
		}
	})
}
