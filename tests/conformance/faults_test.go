//go:build conformance

package conformance

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// members are the members of a request, by name, as JSON.
type members map[string]string

// with returns the members with the fault in them. An empty text leaves a member out.
func (m members) with(fault members) members {
	all := maps.Clone(m)
	maps.Copy(all, fault)
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })

	return all
}

func (m members) body() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%q:%s", name, m[name]))
	}

	return "{" + strings.Join(parts, ",") + "}"
}

// faulty is a request without faults, and faults for it, each of one member or of several that make
// one fault together.
type faulty struct {
	operation string
	request   members
	faults    []members
}

// joined are the answers that name several faults at once: members that break the API model, and
// parameters, or changes of a table, that do not go together.
var joined = regexp.MustCompile(`^400 ValidationException: (\d+ validation errors detected: Value |Can not use both |` +
	`One or more parameter values were invalid: You cannot create or delete index while updating table )`)

// check compares the answers to two requests with one fault each. Of a request with both faults the
// engine names one of the two, or both if both break the model.
//
// What DynamoDB Local says to both is not compared: it looks for the index of a Query, say, before it
// looks at the expressions, and the service after. What is on record about the service's order is in
// the ladders of embedded/internal/dynamodb/order_*_test.go.
func (f faulty) check(t *rapid.T, s *sides) {
	first := f.faults[rapid.IntRange(0, len(f.faults)-1).Draw(t, "first fault")]
	second := f.faults[rapid.IntRange(0, len(f.faults)-1).Draw(t, "second fault")]

	one := s.compareFault(t, f.operation, f.request.with(first).body())
	other := s.compareFault(t, f.operation, f.request.with(second).body())

	if slices.ContainsFunc(slices.Collect(maps.Keys(first)), func(name string) bool { _, ok := second[name]; return ok }) {
		return // they cannot stand beside each other
	}

	both := f.request.with(first).with(second).body()

	got, err := s.engine.call(f.operation, both)
	if err != nil {
		t.Fatalf("%s %s: %v", f.operation, both, err)
	}

	if line := got.line(f.operation); line != one && line != other && !joined.MatchString(line) {
		t.Fatalf("%s %s\n engine %s\n to the first fault alone %s\n to the second %s", f.operation, both, line, one, other)
	}
}

// compareFault compares the answers and returns the engine's, which must be a refusal.
func (s *sides) compareFault(t *rapid.T, operation, body string) string {
	t.Helper()

	engine, vendor := s.ask(t, operation, body)
	if operation == "CreateTable" && vendor.status == 200 {
		s.ask(t, "DeleteTable", fmt.Sprintf(`{"TableName":%q}`, vendor.body["TableDescription"].(map[string]any)["TableName"]))
	}

	got, want := engine.line(operation), vendor.line(operation)
	if !agree(want, got) {
		t.Fatalf("%s %s\n vendor %s\n engine %s", operation, body, clip(want), clip(got))
	}

	if engine.status == 200 {
		t.Fatalf("%s %s: the engine takes it", operation, body)
	}

	return got
}
