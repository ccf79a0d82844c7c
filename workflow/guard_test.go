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
		{name: "below and from a limit on", a: guard("a", "<", 5), b: guard("a", ">=", 5), ok: true},
		{name: "below and above a limit", a: guard("a", "<", 5), b: guard("a", ">", 5), ok: true},
		{name: "both hold at the limit", a: guard("a", "<=", 5), b: guard("a", ">=", 5), ok: false},
		{name: "a fraction lies between", a: guard("a", ">", 5), b: guard("a", "<", 6), ok: false},
		{name: "different constants", a: guard("a", "=", "x"), b: guard("a", "=", "y"), ok: true},
		{name: "a constant and not it", a: guard("a", "=", "x"), b: guard("a", "<>", "x"), ok: true},
		{name: "two times not", a: guard("a", "<>", "x"), b: guard("a", "<>", "y"), ok: false},
		{name: "a truth value and not it", a: guard("a", "=", true), b: guard("a", "=", false), ok: true},
		{name: "lists without a common value", a: guard("a", "in", []any{1, 2}), b: guard("a", "in", []any{3}), ok: true},
		{name: "lists with a common value", a: guard("a", "in", []any{1, 2}), b: guard("a", "in", []any{2}), ok: false},
		{name: "different types", a: guard("a", "=", "5"), b: guard("a", ">=", 5), ok: true},
		{name: "there and not there", a: guard("a", "exists", nil), b: guard("a", "missing", nil), ok: true},
		{name: "not there and compared", a: guard("a", "missing", nil), b: guard("a", ">", 5), ok: true},
		{name: "not there and different: what is missing is different", a: guard("a", "missing", nil), b: guard("a", "<>", 5), ok: false},
		{name: "not there and a part of it compared", a: guard("a", "missing", nil), b: guard("a.b", ">", 5), ok: true},
		{name: "different attributes", a: guard("a", "<", 5), b: guard("b", ">=", 5), ok: false},
		{name: "two attributes, less and not less", a: other("a", "<", "b"), b: other("a", ">=", "b"), ok: true},
		{name: "two attributes, sides exchanged", a: other("a", "<", "b"), b: other("b", "<=", "a"), ok: true},
		{name: "two attributes, both hold when equal", a: other("a", "<=", "b"), b: other("b", "<=", "a"), ok: false},
		{name: "the same value of the request", a: request("<", "now"), b: request(">=", "now"), ok: true},
		{name: "different values of the request", a: request("<", "now"), b: request(">=", "then"), ok: false},
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
		{name: "calculating", g: guard("captured - refunded", ">=", 1), want: "calculates"},
		{name: "another function", g: guard("lower(name)", "=", "x"), want: "only size(path)"},
		{name: "an order of truth values", g: guard("a", "<", true), want: "no order"},
		{name: "a fraction", g: guard("a", "<", 1.5), want: "numbers are whole"},
		{name: "too long a list", g: guard("a", "in", make([]any, 101)), want: "1 to 100"},
		{name: "an empty list", g: guard("a", "in", []any{}), want: "1 to 100"},
		{name: "an operand for exists", g: guard("a", "exists", 1), want: "takes no operand"},
		{name: "no operand", g: guard("a", "=", nil), want: "takes one operand"},
		{name: "an attribute and itself", g: workflow.Guard{Name: "g", Attribute: "a", Op: "<", Other: "a"}, want: "compared with itself"},
		{name: "a regular expression", g: guard("a", "~", "x"), want: `operation "~"`},
		{name: "a name outside the alphabet", g: workflow.Guard{Name: "a b", Attribute: "a", Op: "exists"}, want: "names match"},
		{name: "a path that is none", g: guard("a..b", "=", 1), want: "not the path"},
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
