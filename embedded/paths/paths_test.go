package paths_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ratchet/embedded/paths"
)

// TestAPathIsItsRootAndItsSteps, also where something else follows or the path is broken.
func TestAPathIsItsRootAndItsSteps(t *testing.T) {
	for text, want := range map[string]struct {
		root, steps string
		whole       bool
		fault       string
	}{
		"$":                 {"$", "", true, ""},
		"$$.Task.Token":     {"$$", "Task Token", true, ""},
		"$order.id":         {"$order", "id", true, ""},
		"$.a['b'].c[0]":     {"$", "a b c [0]", true, ""},
		"$.['a']":           {"$", "a", true, ""},
		"$.größe":           {"$", "größe", true, ""},
		"$.a[*].b":          {"$", "a", false, ""},
		"$.a[?(@.b > 1)]":   {"$", "a", false, ""},
		"$..a":              {"$", "", false, ""},
		"$.a.":              {"$", "a", false, "a name is missing"},
		"$.a[":              {"$", "a", false, ""},
		"a.b":               {"", "", false, "must start with $"},
		"":                  {"", "", false, "must start with $"},
		"$.a b":             {"$", "a", false, "unexpected"},
		"$.a.length()":      {"$", "a", false, "path functions like length() are not supported"},
		"$.orders[0:2].sku": {"$", "orders", false, ""},
	} {
		p, err := paths.Read(text)
		if p.Root != want.root || strings.Join(p.Steps, " ") != want.steps || p.Whole != want.whole {
			t.Errorf("%s: %+v, %v; want %+v", text, p, err, want)
		}

		if want.fault != "" && (err == nil || !strings.Contains(err.Error(), want.fault)) {
			t.Errorf("%s: %v; want %s", text, err, want.fault)
		}
	}
}

// TestAReferenceNamesOnePlace, and an expression may call a function.
func TestAReferenceNamesOnePlace(t *testing.T) {
	references := []string{"$", "$.a['b'][0]"}
	expressions := slices.Concat(references, []string{"$$.Execution.Id", "$v.a", "$.a[*]", "States.Format('{}', $.a)"})

	for _, text := range append(slices.Clone(expressions), "$.a.", "", "a", "States.Nothing()", "States.Format('{}'") {
		if err := paths.CheckReference(text); (err == nil) != slices.Contains(references, text) {
			t.Errorf("reference %s: %v", text, err)
		}

		if err := paths.CheckExpression(text); (err == nil) != slices.Contains(expressions, text) {
			t.Errorf("expression %s: %v", text, err)
		}
	}
}

func ExampleRead() {
	p, err := paths.Read("$.run.order['orderId']")
	fmt.Println(p.Root, p.Steps, p.Whole, err)

	_, err = paths.Read("$.run.")
	fmt.Println(err)
	// Output:
	// $ [run order orderId] true <nil>
	// a name is missing at position 7 of "$.run."
}
