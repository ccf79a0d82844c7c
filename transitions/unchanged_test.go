package transitions_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/txn"
	"ratchet/transitions"
	"ratchet/workflow"
)

// TestATransactionMayRequireAnUnchangedOrder: also an order that another program has created or
// moved, and which has no transitionId or still the same.
func TestATransactionMayRequireAnUnchangedOrder(t *testing.T) {
	for name, row := range map[string]struct {
		change func(s *orders, id transitions.OrderID)
		want   error
	}{
		"no change": {func(*orders, transitions.OrderID) {}, nil},
		"a transition": {func(s *orders, id transitions.OrderID) {
			s.want(t, keyed(id, workflow.Hold, "hold"), transitions.Applied)
		}, transitions.ErrContended},
		"an edit": {func(s *orders, id transitions.OrderID) {
			edited(t, transitions.Applied)(s.AddNote(t.Context(), edit(id, "e"), transitions.Note{Text: "hello"}))
		}, transitions.ErrContended},
		"a state that another program has set": {func(s *orders, id transitions.OrderID) {
			s.putOn(t, id, "orderState", &types.AttributeValueMemberS{Value: string(workflow.OnHold)})
		}, transitions.ErrContended},
	} {
		s := newOrders(t)
		s.place(t, "own")
		s.foreign(t, "foreign", workflow.Pending)

		writer, err := txn.New(txn.Config{DynamoDB: s.DB})
		if err != nil {
			t.Fatal(err)
		}

		for _, id := range []transitions.OrderID{"own", "foreign"} {
			order, _, err := s.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			row.change(s, id)

			var tx txn.Transaction
			s.Unchanged(order)(&tx)

			if err := writer.Write(t.Context(), &tx); !errors.Is(err, row.want) {
				t.Errorf("%s, %s: %v, want %v", id, name, err, row.want)
			}
		}
	}
}
