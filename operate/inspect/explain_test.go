package inspect_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/operate/inspect"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestExplainTellsTheWholeWay(t *testing.T) {
	for _, mode := range []transitions.JournalMode{transitions.JournalByStream, transitions.JournalTransactional} {
		t.Run(mode.String(), func(t *testing.T) {
			s := newOrdersIn(t, mode)
			s.place(t, "o-1")
			s.want(t, given("o-1", workflow.Hold, 2), transitions.Applied)
			s.want(t, keyed("o-1", workflow.Release, "r"), transitions.Applied)
			s.want(t, given("o-1", workflow.Pay, 7), transitions.Applied)

			e, err := inspect.Explain(t.Context(), s.Orders, "o-1")
			if err != nil || e.Missing != "" || e.Editable || len(e.Steps) != 4 {
				t.Fatalf("%+v, error %v", e, err)
			}

			if !e.Steps[2].Assigned || !e.Steps[2].Named || e.Steps[3].Skipped != 3 || e.Steps[3].Assigned {
				t.Errorf("steps %+v", e.Steps)
			}

			for _, step := range e.Steps {
				if step.Journal != (mode == transitions.JournalTransactional) || !step.Ring {
					t.Errorf("recorded in: %+v", step)
				}
			}

			options := map[workflow.Event]inspect.Option{}
			for _, o := range e.Options {
				options[o.Event] = o
			}

			if o := options[workflow.Ship]; !o.Legal || o.To != workflow.Shipped {
				t.Errorf("ship: %+v", o)
			}

			if o := options[workflow.Deliver]; o.Legal || !o.Ahead || len(o.Needs) != 1 || o.Needs[0] != workflow.Shipped {
				t.Errorf("deliver: %+v", o)
			}

			if o := options[workflow.Pay]; o.Legal || o.Ahead {
				t.Errorf("a paid order is never paid again: %+v", o)
			}
		})
	}
}

func TestExplainSaysWhatIsMissing(t *testing.T) {
	s := newOrders(t)
	s.ToAndFro(t, s.Orders, "o-1", 30, 3)

	e, err := inspect.Explain(t.Context(), s.Orders, "o-1")
	if err != nil || !strings.Contains(e.Missing, "after transition 3") || len(e.Steps) != 3+8 {
		t.Errorf("missing %q, %d steps, error %v", e.Missing, len(e.Steps), err)
	}
	s.ToAndFro(t, s.Orders, "o-2", 12, 12)
	before := s.Item(t, "o-2")
	s.want(t, given("o-2", workflow.RequestReturn, 13), transitions.Applied) // not recorded
	s.want(t, given("o-2", workflow.RejectReturn, 14), transitions.Applied)
	before["transitionId"] = &types.AttributeValueMemberN{Value: "13"}
	shop.Record(t, s.Orders, before, s.Item(t, "o-2"))

	if e, err = inspect.Explain(t.Context(), s.Orders, "o-2"); err != nil || !strings.Contains(e.Missing, "between transition 12 and 14") {
		t.Errorf("missing %q, error %v", e.Missing, err)
	}

	if _, err := inspect.Explain(t.Context(), s.Orders, "nobody"); !errors.Is(err, transitions.ErrUnknownOrder) {
		t.Errorf("an unknown order: %v", err)
	}
}

// TestExplainJudgesGuards: an option names the guards that the order does not meet, and the demands
// of other guards on the request.
func TestExplainJudgesGuards(t *testing.T) {
	d, err := workflow.New(workflow.Spec{
		Name: "ticket", Version: 1, Place: "open", Initial: "OPEN",
		States: []workflow.StateSpec{{State: "OPEN"}, {State: "PAID"}, {State: "CLOSED", Terminal: true}},
		Transitions: []workflow.Transition{
			{Event: "pay", From: []workflow.State{"OPEN"}, To: "PAID", Guards: []workflow.Guard{{Name: "large", Attribute: "total.amount", Op: ">", Value: 9999}}},
			{Event: "close", From: []workflow.State{"OPEN", "PAID"}, To: "CLOSED", Guards: []workflow.Guard{{Name: "agreed", Attribute: "total.amount", Op: "<=", Request: "agreed"}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	s := newOrders(t)
	s.Orders = s.Shop.Orders(func(c *transitions.Config) { c.Definition = d })
	s.place(t, "o-1")

	e, err := inspect.Explain(t.Context(), s.Orders, "o-1")
	if err != nil || len(e.Options) < 2 {
		t.Fatalf("%+v, error %v", e, err)
	}

	for _, o := range e.Options {
		switch {
		case o.Event == "pay" && (o.Legal || !strings.Contains(o.Unmet, "large")):
			t.Errorf("pay: %+v", o)
		case o.Event == "close" && (!o.Legal || o.To != "CLOSED" || !strings.Contains(o.If, "agreed")):
			t.Errorf("close: %+v", o)
		}
	}
}
