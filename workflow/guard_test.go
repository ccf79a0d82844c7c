package workflow_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ratchet/workflow"
)

func guard(attribute string, op workflow.Op, value any) workflow.Guard {
	return workflow.Guard{Name: "g", Attribute: attribute, Op: op, Value: value}
}

// guarded is a spec with two transitions of one event from one state.
func guarded(a, b []workflow.Guard) workflow.Spec {
	s := twoStates()
	s.States = append(s.States, workflow.StateSpec{State: "C", Terminal: true})
	s.Transitions[0].Guards = a
	s.Transitions = append(s.Transitions, workflow.Transition{Event: "go", From: []workflow.State{"A"}, To: "C", Guards: b})

	return s
}

func TestGuardsOfOneEventExcludeEachOther(t *testing.T) {
	other := func(a string, op workflow.Op, b string) workflow.Guard {
		return workflow.Guard{Name: "g", Attribute: a, Op: op, Other: b}
	}
	request := func(op workflow.Op, r string) workflow.Guard {
		return workflow.Guard{Name: "g", Attribute: "a", Op: op, Request: r}
	}

	rows := []struct {
		name string
		a, b workflow.Guard
		ok   bool
	}{
		{"below and from a limit on", guard("a", "<", 5), guard("a", ">=", 5), true},
		{"below and above a limit", guard("a", "<", 5), guard("a", ">", 5), true},
		{"both hold at the limit", guard("a", "<=", 5), guard("a", ">=", 5), false},
		{"a fraction lies between", guard("a", ">", 5), guard("a", "<", 6), false},
		{"different constants", guard("a", "=", "x"), guard("a", "=", "y"), true},
		{"a constant and not it", guard("a", "=", "x"), guard("a", "<>", "x"), true},
		{"two times not", guard("a", "<>", "x"), guard("a", "<>", "y"), false},
		{"a truth value and not it", guard("a", "=", true), guard("a", "=", false), true},
		{"lists without a common value", guard("a", "in", []any{1, 2}), guard("a", "in", []any{3}), true},
		{"lists with a common value", guard("a", "in", []any{1, 2}), guard("a", "in", []any{2}), false},
		{"different types", guard("a", "=", "5"), guard("a", ">=", 5), true},
		{"there and not there", guard("a", "exists", nil), guard("a", "missing", nil), true},
		{"not there and compared", guard("a", "missing", nil), guard("a", ">", 5), true},
		{"not there and different: what is missing is different", guard("a", "missing", nil), guard("a", "<>", 5), false},
		{"not there and a part of it compared", guard("a", "missing", nil), guard("a.b", ">", 5), true},
		{"different attributes", guard("a", "<", 5), guard("b", ">=", 5), false},
		{"two attributes, less and not less", other("a", "<", "b"), other("a", ">=", "b"), true},
		{"two attributes, sides exchanged", other("a", "<", "b"), other("b", "<=", "a"), true},
		{"two attributes, both hold when equal", other("a", "<=", "b"), other("b", "<=", "a"), false},
		{"the same value of the request", request("<", "now"), request(">=", "now"), true},
		{"different values of the request", request("<", "now"), request(">=", "then"), false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for _, spec := range []workflow.Spec{guarded([]workflow.Guard{row.a}, []workflow.Guard{row.b}), guarded([]workflow.Guard{row.b}, []workflow.Guard{row.a})} {
				_, err := workflow.New(spec)
				if (err == nil) != row.ok || (err != nil && !strings.Contains(err.Error(), "is ambiguous")) {
					t.Errorf("New: %v", err)
				}
			}
		})
	}
}

func TestWhatDynamoDBCannotExpressIsRefused(t *testing.T) {
	rows := []struct {
		name string
		g    workflow.Guard
		want string
	}{
		{"calculating", guard("captured - refunded", ">=", 1), "calculates"},
		{"another function", guard("lower(name)", "=", "x"), "only size(path)"},
		{"an order of truth values", guard("a", "<", true), "no order"},
		{"a fraction", guard("a", "<", 1.5), "numbers are whole"},
		{"too long a list", guard("a", "in", make([]any, 101)), "1 to 100"},
		{"an empty list", guard("a", "in", []any{}), "1 to 100"},
		{"an operand for exists", guard("a", "exists", 1), "takes no operand"},
		{"no operand", guard("a", "=", nil), "takes one operand"},
		{"an attribute and itself", workflow.Guard{Name: "g", Attribute: "a", Op: "<", Other: "a"}, "compared with itself"},
		{"a regular expression", guard("a", "~", "x"), `operation "~"`},
		{"a name outside the alphabet", workflow.Guard{Name: "a b", Attribute: "a", Op: "exists"}, "names match"},
		{"a path that is none", guard("a..b", "=", 1), "not the path"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := twoStates()
			s.Transitions[0].Guards = []workflow.Guard{row.g}
			if _, err := workflow.New(s); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got error %v, want one that says %q", err, row.want)
			}
		})
	}
}

func TestGuardsBecomeOneCondition(t *testing.T) {
	got, err := workflow.RenderGuards([]workflow.Guard{
		{Name: "covered", Attribute: "payment.captured", Op: ">=", Other: "total"},
		{Name: "open", Attribute: "payment.state", Op: "in", Value: []any{"A", int64(2)}},
		{Name: "first", Attribute: "items[0].sku", Op: "exists"},
		{Name: "window", Attribute: "deliveredAt", Op: ">", Request: "windowStart"},
		{Name: "few", Attribute: "size(items)", Op: "<", Value: int64(9)},
	}, "g", map[string]any{"windowStart": 17})
	if err != nil {
		t.Fatal(err)
	}

	want := workflow.Condition{
		Expression: "#g0.#g1 >= #g2 AND #g0.#g3 IN (:g0, :g1) AND attribute_exists(#g4[0].#g5) AND #g6 > :g2 AND size(#g4) < :g3",
		Names:      map[string]string{"#g0": "payment", "#g1": "captured", "#g2": "total", "#g3": "state", "#g4": "items", "#g5": "sku", "#g6": "deliveredAt"},
		Values:     map[string]any{":g0": "A", ":g1": int64(2), ":g2": int64(17), ":g3": int64(9)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	if _, err := workflow.RenderGuards([]workflow.Guard{{Name: "window", Attribute: "a", Op: ">", Request: "start"}}, "g", nil); err == nil || !strings.Contains(err.Error(), "does not say start") {
		t.Errorf("a missing value of the request: %v", err)
	}
}

func TestDecideFollowsTheMoney(t *testing.T) {
	rows := []struct {
		name                      string
		from                      workflow.State
		event                     workflow.Event
		total, captured, refunded int
		want                      workflow.State
	}{
		{"the total is covered", "CAPTURING", "settle", 100, 100, 0, "CAPTURED"},
		{"a part is covered", "CAPTURING", "settle", 100, 40, 0, "PARTIALLY_CAPTURED"},
		{"a failed second part leaves the first", "CAPTURING", "fail", 100, 40, 0, "PARTIALLY_CAPTURED"},
		{"a failed first part leaves nothing", "CAPTURING", "fail", 100, 0, 0, "FAILED"},
		{"all given back", "REFUND_PENDING", "refund", 100, 100, 100, "REFUNDED"},
		{"a part given back", "REFUND_PENDING", "refund", 100, 100, 30, "PARTIALLY_REFUNDED"},
		{"a failed refund after another", "REFUND_PENDING", "fail_refund", 100, 100, 30, "PARTIALLY_REFUNDED"},
		{"a failed first refund", "REFUND_PENDING", "fail_refund", 100, 100, 0, "CAPTURED"},
		{"a failed first refund of a part", "REFUND_PENDING", "fail_refund", 100, 40, 0, "PARTIALLY_CAPTURED"},
		{"no such event", "NONE", "refund", 0, 0, 0, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			data := map[string]any{"total": row.total, "captured": row.captured, "refunded": row.refunded}
			got, err := workflow.Payment().Decide(row.from, row.event, data, nil)
			if err != nil || got.To != row.want {
				t.Errorf("got %+v, error %v, want %q", got, err, row.want)
			}
		})
	}

	got, err := workflow.Payment().Decide("CAPTURING", "settle", map[string]any{}, nil)
	if err != nil || got.To != "" || len(got.Unmet) != 2 {
		t.Errorf("without the amounts no guard holds: %+v, %v", got, err)
	}
}

// TestAtMostOneGuardedTransitionHolds: whatever New accepts is never ambiguous.
func TestAtMostOneGuardedTransitionHolds(t *testing.T) {
	value := rapid.SampledFrom([]any{1, 2, 3, "a", "b", true, false})
	attribute := rapid.SampledFrom([]string{"x", "y", "x.z", "size(x)"})
	draw := rapid.Custom(func(t *rapid.T) workflow.Guard {
		g := guard(attribute.Draw(t, "attribute"), rapid.SampledFrom([]workflow.Op{"=", "<>", "<", "<=", ">", ">=", "in", "exists", "missing"}).Draw(t, "op"), nil)
		switch {
		case g.Op == "in":
			g.Value = rapid.SliceOfN(value, 1, 3).Draw(t, "list")
		case g.Op == "exists" || g.Op == "missing":
		case rapid.Bool().Draw(t, "attributes"):
			g.Other = attribute.Draw(t, "other")
		default:
			g.Value = value.Draw(t, "value")
		}

		return g
	})
	guards := rapid.SliceOfN(draw, 1, 2)
	rapid.Check(t, func(t *rapid.T) {
		d, err := workflow.New(guarded(guards.Draw(t, "a"), guards.Draw(t, "b")))
		if err != nil {
			return
		}

		data := map[string]any{}
		for _, a := range []string{"x", "y"} {
			switch rapid.IntRange(0, 3).Draw(t, a) {
			case 1:
				data[a] = value.Draw(t, a)
			case 2:
				data[a] = rapid.Float64Range(0, 4).Draw(t, a)
			case 3:
				data[a] = map[string]any{"z": value.Draw(t, "z")}
			}
		}

		holding := 0
		for _, choice := range d.Choices("A", "go") {
			all := true
			for _, g := range choice.Guards {
				holds, err := g.Holds(data, nil)
				if err != nil {
					t.Fatal(err)
				}
				all = all && holds
			}

			if all {
				holding++
			}
		}

		if holding > 1 {
			t.Fatalf("both hold for %v: %v", data, d.Choices("A", "go"))
		}
	})
}
