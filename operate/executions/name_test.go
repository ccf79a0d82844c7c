package executions_test

import (
	"strings"
	"testing"

	"ratchet/operate/executions"
	"ratchet/transitions"
)

func TestANameIsTheOrdersIDWhereThatIsAName(t *testing.T) {
	long := strings.Repeat("o", 81)
	for _, id := range []transitions.OrderID{"o-1", "A_z-9", transitions.OrderID(long[:80])} {
		if got := executions.Name(id); got != string(id) {
			t.Errorf("name of %s: %s", id, got)
		}
	}

	seen := map[string]transitions.OrderID{}
	for _, id := range []transitions.OrderID{"o 1", "o:1", "ö-1", transitions.OrderID(long)} {
		name := executions.Name(id)
		if !strings.HasPrefix(name, "order-") || len(name) != len("order-")+32 {
			t.Errorf("name of %s: %s, want a digest", id, name)
		}

		if other, taken := seen[name]; taken {
			t.Errorf("%s and %s have the same name", id, other)
		}

		seen[name] = id
	}
}
