//go:build conformance

package conformance

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// difference is a place where the service itself is known to answer otherwise than
// DynamoDB Local. Both patterns match whole answer lines.
type difference struct {
	vendor, aws    string
	reason, source string
}

type compiled struct {
	difference
	vendor, aws *regexp.Regexp
	used        bool
}

var (
	differencesMu sync.Mutex
	known         = compile(differences)
)

func compile(list []difference) []*compiled {
	all := make([]*compiled, len(list))
	for n, d := range list {
		all[n] = &compiled{difference: d,
			vendor: regexp.MustCompile("^(?:" + d.vendor + ")$"), aws: regexp.MustCompile("^(?:" + d.aws + ")$")}
	}

	return all
}

// agree reports whether the two lines are the same, or differ as the service does.
func agree(vendor, engine string) bool {
	if vendor == engine {
		return true
	}
	differencesMu.Lock()
	defer differencesMu.Unlock()

	for _, d := range known {
		if d.vendor.MatchString(vendor) && d.aws.MatchString(engine) {
			d.used = true
			return true
		}
	}

	return false
}

// reportUnused fails a whole run that needed a difference no more.
func reportUnused() int {
	if f := flagValue("test.run"); f != "" {
		return 0
	}

	code := 0
	for _, d := range known {
		if !d.used {
			fmt.Fprintf(os.Stderr, "conformance: no request shows this difference any more: %s | %s\n", d.difference.vendor, d.difference.aws)
			code = 1
		}
	}

	return code
}

// both sends one request to both sides and compares; the answers are returned for
// what follows from them.
func both(t testing.TB, operation, body string) (engine, vendor answer) {
	t.Helper()

	engine, vendor = ask(t, engineSide, operation, body), ask(t, vendorSide, operation, body)
	shape := unordered(operation, body)
	got, want := engine.line(shape), vendor.line(shape)
	if !agree(want, got) {
		t.Errorf("%s %s\n vendor %s\n engine %s", operation, clip(body), clip(want), clip(got))
	}

	return engine, vendor
}

// unordered returns the operation by whose rules the answer is compared: Scan for a
// statement that asks for no order.
func unordered(operation, body string) string {
	if operation == "ExecuteStatement" && !strings.Contains(body, "ORDER BY") {
		return "Scan"
	}

	return operation
}

func ask(t testing.TB, s *side, operation, body string) answer {
	t.Helper()

	a, err := s.call(operation, body)
	if err != nil {
		t.Fatal(err)
	}

	return a
}

// quietly sends a request to both sides that must succeed and is not compared.
func quietly(t testing.TB, operation, body string) {
	t.Helper()

	for _, s := range []*side{engineSide, vendorSide} {
		if a := ask(t, s, operation, body); a.status != 200 {
			t.Fatalf("%s: %s %s: %s", s.name, operation, clip(body), a.raw)
		}
	}
}

const longestShown = 1500

func clip(s string) string {
	if len(s) > longestShown {
		return s[:longestShown] + "..."
	}
	return s
}

// row is one request of a table.
type row struct {
	name, operation, body string
}

// compareRows sends the rows in order; later ones see what earlier ones did.
func compareRows(t *testing.T, rows []row) {
	t.Helper()

	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) { both(t, r.operation, r.body) })
	}
}

// withTables creates tables on both sides and drops them after the test. A schema is
// "hash:S" or "hash:S,range:N".
func withTables(t testing.TB, schemas map[string]string) {
	t.Helper()

	for name, schema := range schemas {
		quietly(t, "CreateTable", createTable(name, schema, ""))
		t.Cleanup(func() { quietly(t, "DeleteTable", fmt.Sprintf(`{"TableName":%q}`, name)) })
	}
}
