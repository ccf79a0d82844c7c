package stack

import (
	"maps"
	"slices"
	"strings"

	"ratchet/internal/plural"
)

// isPolicy reports whether a property is a document of IAM.
func isPolicy(path string) bool {
	return strings.HasSuffix(path, "PolicyDocument")
}

// policyDifferences compares what two policies allow and deny. How they group it into statements means nothing.
func policyDifferences(path string, wanted, is any) (all []string) {
	want, got := rulesOf(decoded(wanted)), rulesOf(decoded(is))
	if len(got) == 0 {
		return []string{path + " is missing"}
	}

	if lacks := without(want, got); len(lacks) > 0 {
		all = append(all, path+" lacks "+plural.First(lacks, named))
	}

	if more := without(got, want); len(more) > 0 {
		all = append(all, path+" has also "+plural.First(more, named))
	}

	return all
}

func without(all, others map[string]bool) (left []string) {
	for _, rule := range slices.Sorted(maps.Keys(all)) {
		if !others[rule] {
			left = append(left, rule)
		}
	}

	return left
}

// named is how many permissions a finding names.
const named = 3

// rulesOf returns each rule of a policy: an action on a resource, with the effect unless it is Allow, for a principal
// and under a condition if it has them.
func rulesOf(policy any) map[string]bool {
	document, _ := policy.(map[string]any)
	rules := map[string]bool{}

	for _, one := range listOf(document["Statement"]) {
		statement, _ := one.(map[string]any)
		before, after := "", ""

		if effect := text(statement["Effect"]); effect != "Allow" {
			before = effect + " "
		}

		for _, name := range slices.Sorted(maps.Keys(statement)) {
			switch name {
			case "Effect", "Action", "Resource", "Sid":
			default:
				after += " " + name + " " + text(normal(statement[name]))
			}
		}

		for _, action := range listOf(statement["Action"]) {
			for _, resource := range listOf(statement["Resource"]) {
				on := ""
				if resource != nil {
					on = " on " + text(resource)
				}
				rules[before+text(action)+on+after] = true
			}

			if statement["Resource"] == nil {
				rules[before+text(action)+after] = true
			}
		}
	}

	return rules
}

// listOf returns a list: IAM takes a single value in place of a list with it.
func listOf(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}

	return []any{v}
}

// normal returns a value with lists of one element as the element, and other lists sorted.
func normal(v any) any {
	switch v := v.(type) {
	case []any:
		if len(v) == 1 {
			return normal(v[0])
		}

		return slices.SortedFunc(slices.Values(v), func(x, y any) int { return strings.Compare(text(x), text(y)) })
	case map[string]any:
		all := map[string]any{}
		for name, inner := range v {
			all[name] = normal(inner)
		}

		return all
	}

	return v
}
