package transitions_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// A guard, or a time, that names the attribute of the table that has a field of Ratchet's is refused by New: the order
// has no attribute of that name, and the condition would look at the field.
func TestAGuardNamesFieldsAsTheDefinitionDoes(t *testing.T) {
	mapping := transitions.Mapping{
		PartitionKey: "pk", Key: "ORDER#{id}", SortKey: "sk", Sort: "ORDER", Prefix: "rt_",
		Attributes: map[string]string{"orderState": "status", "total": "sum"},
	}
	s := newOrders(t)

	for path, want := range map[string]string{
		"status":          `"status" is the attribute that the mapping gives the field orderState: name the field`,
		"sum.amount":      `"sum" is the attribute that the mapping gives the field total: name the field`,
		"rt_transitionId": `"rt_transitionId" is the attribute that the mapping gives the field transitionId: name the field`,
		"size(rt_items)":  `"rt_items" is the attribute that the mapping gives the field items: name the field`,
		"pk":              `"pk" is the key of the table: name orderId`,
		"sk":              `"sk" is the key of the table: name orderId`,
		"total.amount":    "", "orderState": "", "orderId": "", "shelf": "", "rt_shelf": "", "size(items)": "",
	} {
		for kind, change := range map[string]func(*workflow.Transition){
			"guard": func(t *workflow.Transition) {
				t.Guards = append(t.Guards, workflow.Guard{Name: "g", Attribute: path, Op: "exists"})
			},
			"other": func(t *workflow.Transition) {
				t.Guards = append(t.Guards, workflow.Guard{Name: "g", Attribute: "shelf[0]", Op: "=", Other: path})
			},
			"after": func(t *workflow.Transition) { t.After = &workflow.After{Attribute: path, Delay: time.Hour} },
		} {
			if kind != "other" && strings.HasPrefix(path, "size(") {
				continue // workflow.New refuses it
			}

			spec := workflow.Order().Spec()
			for i := range spec.Transitions {
				if spec.Transitions[i].Event == workflow.Expire && slices.Contains(spec.Transitions[i].From, workflow.Pending) {
					change(&spec.Transitions[i])
				}
			}

			d, err := workflow.New(spec)
			if err != nil {
				t.Fatalf("%s %s: %v", kind, path, err)
			}

			_, err = transitions.New(transitions.Config{DynamoDB: s.DB, Table: shop.OrdersTable, Mapping: mapping, Definition: d})
			if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
				t.Errorf("%s %s: %v, want %q", kind, path, err, want)
			}

			if _, err := transitions.New(transitions.Config{DynamoDB: s.DB, Table: shop.OrdersTable, Definition: d}); err != nil {
				t.Errorf("%s %s without a mapping: %v", kind, path, err)
			}
		}
	}
}
