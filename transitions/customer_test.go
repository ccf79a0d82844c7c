package transitions_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestAnOrderKeepsItsCustomer: through transitions and edits, in the journal's modes both.
func TestAnOrderKeepsItsCustomer(t *testing.T) {
	inBothModes(t, func(t *testing.T, open maker) {
		s := open(t)
		n := transitions.NewOrder{ID: "o-1", Total: transitions.Money{Amount: 5, Currency: "EUR"}, Customer: "c-1"}

		placed, err := s.Create(t.Context(), n)
		if err != nil || placed.Order.Customer != "c-1" {
			t.Fatal(placed.Order, err)
		}

		moved, err := s.Apply(t.Context(), transitions.Request{OrderID: "o-1", Event: workflow.Hold, TransitionID: 2})
		if err != nil || moved.Order.Customer != "c-1" {
			t.Fatal(moved.Order, err)
		}

		other := n
		other.Customer = "c-2"
		none := n
		none.Customer = ""

		for want, n := range map[transitions.Verdict][]transitions.NewOrder{transitions.Replayed: {n}, transitions.Conflict: {other, none}} {
			for _, n := range n {
				if r, err := s.Create(t.Context(), n); err != nil || r.Verdict != want || r.Order.Customer != "c-1" {
					t.Errorf("again for %q: %s for %q, %v, want %s", n.Customer, r.Verdict, r.Order.Customer, err, want)
				}
			}
		}
	})
}

// TestAnOrderWithoutCustomerIsAsBefore: its item and its input of an execution are those of
// earlier versions, whose repeats must stay Replayed.
func TestAnOrderWithoutCustomerIsAsBefore(t *testing.T) {
	s := newOrders(t)
	n := transitions.NewOrder{ID: "o-1", Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 5}}, Total: transitions.Money{Amount: 5, Currency: "EUR"}}

	if _, err := s.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}

	table := shop.OrdersTable

	out, err := s.DB.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: dynamo.Item{"orderId": dynamo.S("o-1")}})
	if err != nil {
		t.Fatal(err)
	}

	const digestOfThisOrder = "11154d980f6c1cc1b811ffc786ebf78a"
	if got := dynamo.Bytes(out.Item, "placeHash"); out.Item["customer"] != nil || hex.EncodeToString(got) != digestOfThisOrder {
		t.Errorf("customer %v, digest %x", out.Item["customer"], got)
	}

	if text, err := json.Marshal(n); err != nil || strings.Contains(string(text), "customer") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestCustomersAreReferences(t *testing.T) {
	for customer, valid := range map[string]bool{
		"c-1":                    true,
		"Crm:7.4_x":              true,
		strings.Repeat("c", 100): true,
		strings.Repeat("c", 101): false,
		"ann@example.org":        false,
		"Ann Example":            false,
		"c/1":                    false,
		"c#1":                    false,
		"\u00e9":                 false,
		"c-1\n":                  false,
	} {
		err := transitions.NewOrder{ID: "o-1", Total: transitions.Money{Currency: "EUR"}, Customer: customer}.Validate()
		if valid != (err == nil) || err != nil && (!errors.Is(err, transitions.ErrInvalidRequest) || !strings.Contains(err.Error(), "customer")) {
			t.Errorf("%q: %v", customer, err)
		}

		if err != nil && strings.Contains(err.Error(), customer) {
			t.Errorf("the error repeats what may be personal data: %v", err)
		}
	}
}
