package stack

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Differences says in what a resource with these properties differs from the templates, in as few sentences as one of
// the choices needs.
func (r *Resource) Differences(is map[string]any) (fewest []string) {
	for i, wanted := range r.candidates {
		if found := differences("", wanted, is, false); i == 0 || len(found) < len(fewest) {
			fewest = found
		}
	}

	return fewest
}

// differences compares a value of a template with the one that is there. In a strict object each member counts, in others
// AWS adds members of its own.
func differences(path string, wanted, is any, strict bool) []string {
	if isPolicy(path) {
		return policyDifferences(path, wanted, is)
	}
	strict = strict || strings.HasSuffix(path, "EventPattern")

	switch w := wanted.(type) {
	case open:
		if list, isList := is.([]any); is == nil || is == "" || isList && len(list) == 0 {
			return []string{path + " is missing"}
		}

		return nil
	case none:
		if is != nil {
			return []string{fmt.Sprintf("%s is %s, and should not be there", path, text(is))}
		}

		return nil
	case either:
		yes, no := differences(path, w.yes, is, strict), differences(path, w.no, is, strict)
		if len(no) < len(yes) {
			return no
		}

		return yes
	case map[string]any:
		return objectDifferences(path, w, is, strict)
	case []any:
		if slices.ContainsFunc(namedLists, func(name string) bool { return strings.HasSuffix(path, "."+name) }) {
			return memberDifferences(path, w, is, strict)
		}

		return listDifferences(path, w, is, strict)
	}

	if want := text(wanted); is == nil {
		return []string{fmt.Sprintf("%s is missing, and should be %s", path, want)}
	} else if got := text(is); got != want {
		return []string{fmt.Sprintf("%s is %s, not %s", path, got, want)}
	}

	return nil
}

func objectDifferences(path string, wanted map[string]any, is any, strict bool) (all []string) {
	got, isObject := decoded(is).(map[string]any)
	if !isObject {
		return []string{path + " is missing"}
	}

	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		all = append(all, differences(within(path, name), wanted[name], got[name], strict)...)
	}

	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, known := wanted[name]; strict && !known {
			all = append(all, within(path, name)+" should not be there")
		}
	}

	return all
}

// listDifferences compares lists as sets: the order means nothing in those that are compared, and AWS changes it.
func listDifferences(path string, wanted []any, is any, strict bool) (all []string) {
	got, _ := decoded(is).([]any)
	left := slices.Clone(got)

	// What is certain takes its element first.
	ordered := slices.SortedStableFunc(slices.Values(wanted), func(x, y any) int { return certainty(x) - certainty(y) })

	for _, w := range ordered {
		i := slices.IndexFunc(left, func(g any) bool { return len(differences(path, w, g, strict)) == 0 })

		switch {
		case i >= 0:
			left = slices.Delete(left, i, i+1)
		case len(wanted) == 1 && len(got) == 1:
			return differences(path, w, got[0], strict)
		case len(differences(path, w, nil, strict)) > 0:
			all = append(all, path+" lacks "+text(w))
		}
	}

	for _, g := range left {
		all = append(all, path+" has also "+text(g))
	}

	return all
}

// namedLists are lists of members with names to which a deployment adds its own: containers, variables and secrets. What
// it adds is right, and is not printed: a variable may have a secret.
var namedLists = []string{"ContainerDefinitions", "Environment", "Secrets"}

// memberDifferences compares the members of a list of the template by their names.
func memberDifferences(path string, wanted []any, is any, strict bool) (all []string) {
	got, _ := decoded(is).([]any)

	for _, w := range wanted {
		name := nameOf(w)
		i := slices.IndexFunc(got, func(g any) bool { return nameOf(g) == name })

		choice, chosen := w.(either)

		switch {
		case i < 0 && len(differences(path, w, nil, strict)) > 0:
			all = append(all, path+" lacks "+name)
		case i < 0:
		case chosen:
			all = append(all, differences(within(path, name), choice.yes, got[i], strict)...)
		default:
			all = append(all, differences(within(path, name), w, got[i], strict)...)
		}
	}

	return all
}

// nameOf returns the name of a member, of a choice that of the member that it may add.
func nameOf(member any) string {
	if choice, is := member.(either); is {
		member = choice.yes
	}

	object, _ := member.(map[string]any)

	return text(object["Name"])
}

func certainty(v any) int {
	switch v.(type) {
	case open:
		return 2
	case either:
		return 1
	}

	return 0
}

func within(path, name string) string {
	if path == "" {
		return name
	}

	return path + "." + name
}

// decoded returns the value of a JSON text: some documents are answered as texts.
func decoded(v any) any {
	s, isText := v.(string)
	if !isText {
		return v
	}

	var inner any
	if json.Unmarshal([]byte(s), &inner) != nil {
		return v
	}

	return inner
}

// text writes a value. A number and its text are the same.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case open:
		return "a value"
	case either:
		return text(v.yes)
	case []any:
		all := make([]string, len(v))
		for i, one := range v {
			all[i] = text(one)
		}

		return "[" + strings.Join(all, ", ") + "]"
	case map[string]any:
		var all []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, name+": "+text(v[name]))
		}

		return "{" + strings.Join(all, ", ") + "}"
	}

	return fmt.Sprint(v)
}
