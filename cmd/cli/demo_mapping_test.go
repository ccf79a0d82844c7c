package cli

import (
	"bytes"
	"strings"
	"testing"

	"ratchet/server"
)

// The demo runs in each table that the settings map, and its recount reads that table by the mapping.
func TestTheDemoRunsInAMapping(t *testing.T) {
	for name, mapping := range map[string][]string{
		"own table":    {},
		"prefixed":     {"--orders-key", "id={id}", "--orders-prefix", "ratchet_"},
		"single table": {"--orders-key", "pk=ORDER#{id}", "--orders-sort", "sk=ORDER"},
		"odd names":    {"--orders-key", "key.of=order/{id}", "--orders-prefix", "rt.", "--orders-attributes", "orderState=status,transitionId=SELECT,total=a b"},
	} {
		var out bytes.Buffer
		root := newRoot(server.Parts{})
		root.SetArgs(append([]string{"demo", "--orders", "5", "--orders-table", "shop", "--decline-percent", "0", "--timeout-percent", "0"}, mapping...))
		root.SetOut(&out)
		root.SetErr(&out)

		if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "everything adds up") {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
}
