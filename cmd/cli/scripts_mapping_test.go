package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ratchet/tests/shop"
)

// mappedScripts are the scripts about what reads or writes the orders' table: edits, parcels, guards, causes, lists,
// views, the journal, erasures, renewals, migrations and imports. Not orders_own: its own attributes have names that the
// mapping gives to fields, and TestOwnAttributesAreWrittenWithTheTransition tries own attributes in every mapping.
var mappedScripts = []string{
	"orders", "orders_cause", "orders_edit", "orders_erase", "orders_explain", "orders_guard", "orders_import", "orders_list",
	"orders_rebuild", "orders_renew", "orders_ship", "orders_verify", "workflow_migrate",
}

// The commands do the same whichever names and keys the orders' table has. The mapping has a reserved word or an odd
// name for each field.
func TestScriptsInAMapping(t *testing.T) {
	odd := shop.OddMapping()

	var attributes []string
	for field, name := range odd.Attributes {
		attributes = append(attributes, field+"="+name)
	}

	files := make([]string, len(mappedScripts))
	for i, name := range mappedScripts {
		files[i] = fmt.Sprintf("testdata/script/%s.txtar", name)
	}

	runScripts(t, testscript.Params{Files: files}, map[string]string{
		"RATCHET_ORDERS_KEY":        odd.PartitionKey + "=" + odd.Key,
		"RATCHET_ORDERS_SORT":       odd.SortKey + "=" + odd.Sort,
		"RATCHET_ORDERS_ATTRIBUTES": strings.Join(attributes, ","),
	})
}
