package dynamodb

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The order in which the service validates, as far as it is on record. Each ladder is a request with
// all the faults of its rungs. The answer names the first fault; the next request has this fault mended,
// and so on, until there is no fault left. The order and the words come from two suites whose
// expectations were recorded on the service:
//
//   - https://github.com/architect/dynalite, test/<operation>.js
//   - https://github.com/paritysuite/dynamodb-conformance, tests/tier3/validation-ordering
//
// Where they differ, the newer one, paritysuite, is right. The words come from the regions that still
// name all members that break the model in one answer. Since 2026 other regions leave out the
// value of some members and name the first fault only.

// rung is a fault of one member of a request: its JSON with the fault and without. An empty text
// leaves the member out.
type rung struct {
	member, bad, mended string
	// want is the error that names the fault.
	want string
}

type ladder struct {
	name, operation string
	// rest are the members without faults.
	rest  string
	rungs []rung
	// top is the beginning of the answer without faults.
	top string
}

const (
	invalidOrder = "ValidationException: "
	oneInvalid   = invalidOrder + "One or more parameter values were invalid: "
	oneBroken    = invalidOrder + "1 validation error detected: "
	noTable      = "ResourceNotFoundException: Requested resource not found"
)

// climb sends the requests of a ladder from the bottom up.
func (l ladder) climb(t *testing.T, s *Service) {
	t.Helper()

	members := map[string]string{}
	var names []string
	for _, r := range l.rungs {
		if !slices.Contains(names, r.member) {
			names = append(names, r.member)
			members[r.member] = r.bad
		}
	}

	for i, r := range l.rungs {
		if members[r.member] != r.bad {
			t.Fatalf("rung %d: %s is %s after the rung before, want %s", i, r.member, members[r.member], r.bad)
		}

		if got := request(t, s, l.operation, l.body(names, members)); got != r.want {
			t.Errorf("rung %d, %s\n got %s\nwant %s", i, l.body(names, members), got, r.want)
		}
		members[r.member] = r.mended
	}

	if got := request(t, s, l.operation, l.body(names, members)); !strings.HasPrefix(got, l.top) {
		t.Errorf("without faults, %s\n got %s\nwant %s...", l.body(names, members), got, l.top)
	}
}

func (l ladder) body(names []string, members map[string]string) string {
	var parts []string
	if l.rest != "" {
		parts = append(parts, l.rest)
	}

	for _, name := range names {
		if members[name] != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", name, members[name]))
		}
	}

	return "{" + strings.Join(parts, ",") + "}"
}

// openOrdered opens a service with a table "single" (a) and a table "ranged" (a, b) that has a
// global index "by-c" (c), which projects its keys, and a local one "by-d" (a, d).
func openOrdered(t *testing.T) *Service {
	t.Helper()

	s, closeService := openService(t, t.TempDir())
	t.Cleanup(closeService)

	for _, definition := range []string{
		`{"TableName":"single","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}]}`,
		`{"TableName":"ranged","BillingMode":"PAY_PER_REQUEST",
			"KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"b","KeyType":"RANGE"}],
			"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"},{"AttributeName":"b","AttributeType":"S"},{"AttributeName":"c","AttributeType":"S"},{"AttributeName":"d","AttributeType":"S"}],
			"GlobalSecondaryIndexes":[{"IndexName":"by-c","KeySchema":[{"AttributeName":"c","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}],
			"LocalSecondaryIndexes":[{"IndexName":"by-d","KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"d","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}]}`,
	} {
		if got := request(t, s, "CreateTable", definition); !strings.HasPrefix(got, `{"TableDescription"`) {
			t.Fatal(got)
		}
	}

	return s
}

func climbAll(t *testing.T, ladders []ladder) {
	for _, l := range ladders {
		t.Run(l.name, func(t *testing.T) { l.climb(t, openOrdered(t)) })
	}
}

// broken returns the answer that names these members, in this order.
func broken(members ...string) string {
	if len(members) == 1 {
		return oneBroken + members[0]
	}

	return fmt.Sprintf("%s%d validation errors detected: %s", invalidOrder, len(members), strings.Join(members, "; "))
}

// must returns the words of the answer about one member. value is null or 'x'.
func must(value, member, rule string) string {
	return fmt.Sprintf("Value %s at '%s' failed to satisfy constraint: Member must %s", value, member, rule)
}

// The rules of the model that many members share.
const (
	notBeNull       = "not be null"
	matchName       = "satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
	have3           = "have length greater than or equal to 3"
	have1           = "have length greater than or equal to 1"
	have255         = "have length less than or equal to 255"
	be1             = "have value greater than or equal to 1"
	beCapacity      = "satisfy enum value set: [INDEXES, TOTAL, NONE]"
	beMetrics       = "satisfy enum value set: [SIZE, NONE]"
	beReturnValues  = "satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
	beSelect        = "satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]"
	beOperator      = "satisfy enum value set: [IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS]"
	beConditionJoin = "satisfy enum value set: [OR, AND]"
)

// requestRow is one request with its whole answer.
type requestRow struct{ name, operation, body, want string }

func checkRows(t *testing.T, rows []requestRow) {
	t.Helper()

	s := openOrdered(t)
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := request(t, s, r.operation, r.body); got != r.want {
				t.Errorf("%s %s\n got %s\nwant %s", r.operation, r.body, got, r.want)
			}
		})
	}
}
