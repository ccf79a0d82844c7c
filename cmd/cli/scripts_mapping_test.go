package cli

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"ratchet/tests/shop"
)

// mappedScripts are the scripts in which commands read or write the orders' table, each in a way of its own: edits, lists, the
// journal, erasures, parcels and imports. Not orders_own: its own attributes have names that the mapping gives to fields, and
// TestOwnAttributesAreWrittenWithTheTransition tries own attributes in every mapping.
var mappedScripts = []string{"orders_edit", "orders_erase", "orders_import", "orders_list", "orders_rebuild", "orders_ship", "orders_verify"}

// alsoMappedScripts read and write in ways that the tests of transitions and of server/ratchettest try in mappings.
var alsoMappedScripts = []string{"orders", "orders_cause", "orders_explain", "orders_guard", "orders_renew", "workflow_migrate"}

var flagAllMapped = flag.Bool("all-mapped", false, "run every script about orders in a mapping, too (make long)")

// The commands do the same whichever names and keys the orders' table has. The mapping has a reserved word or an odd
// name for each field.
func TestScriptsInAMapping(t *testing.T) {
	odd := shop.OddMapping()

	var attributes []string
	for field, name := range odd.Attributes {
		attributes = append(attributes, field+"="+name)
	}

	scripts := mappedScripts
	if *flagAllMapped {
		scripts = slices.Concat(mappedScripts, alsoMappedScripts)
	}

	runScripts(t, scripts, map[string]string{
		"RATCHET_ORDERS_KEY":        odd.PartitionKey + "=" + odd.Key,
		"RATCHET_ORDERS_SORT":       odd.SortKey + "=" + odd.Sort,
		"RATCHET_ORDERS_ATTRIBUTES": strings.Join(attributes, ","),
	})
}
