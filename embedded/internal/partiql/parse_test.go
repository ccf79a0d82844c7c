package partiql

import (
	"fmt"
	"strings"
	"testing"

	"ratchet/embedded/internal/attr"
)

func TestParse(t *testing.T) {
	s, err := Parse(`-- all of it
		SELECT id, "m".k, l[0] FROM "orders"."by-state" /* an index */
		WHERE 'paid' = state AND placed > -1.50e1 AND note IS NOT MISSING ORDER BY placed DESC, state;`, nil)
	if err != nil {
		t.Fatal(err)
	}

	if s.Command != Select || s.Table != "orders" || s.Index != "by-state" || len(s.Columns) != 3 || ColumnName(s.Columns[2]) != "l[0]" {
		t.Errorf("parsed as %+v", s)
	}

	if len(s.Order) != 2 || s.Order[0] != (Order{"placed", true}) || s.Order[1] != (Order{"state", false}) {
		t.Errorf("order is %v", s.Order)
	}

	parts := s.Where.Conjuncts()
	if len(parts) != 3 {
		t.Fatalf("%d conditions", len(parts))
	}

	state, _ := parts[0].Comparison()
	at, _ := parts[1].Comparison()
	if state.Name != "state" || state.Operator != "=" || state.Values[0].Str != "paid" || at.Operator != ">" || at.Values[0].Str != "-15" || at.Name != "placed" {
		t.Errorf("conditions are %+v and %+v", state, at)
	}

	if ok, _ := s.Condition.Match(attr.Item{"state": {Kind: attr.S, Str: "paid"}, "placed": {Kind: attr.N, Str: "0"}, "note": {Kind: attr.S}}); !ok {
		t.Error("the condition does not hold for an item that it describes")
	}
}

func TestParametersStandForValues(t *testing.T) {
	params := []attr.Value{{Kind: attr.S, Str: "o-1"}, attr.NewSortedSet(attr.NS, []string{"1"})}

	s, err := Parse(`INSERT INTO orders VALUE {'id': ?, 'sizes': ?, 'tags': <<'b', 'a'>>}`, params)
	if err != nil {
		t.Fatal(err)
	}

	if s.Item["id"].Str != "o-1" || s.Item["sizes"].Set()[0] != "1" || strings.Join(s.Item["tags"].Set(), "") != "ab" {
		t.Errorf("item is %v", s.Item)
	}
}

// TestErrors has the recorded messages of the service. tests/conformance compares the messages of
// DynamoDB Local.
func TestErrors(t *testing.T) {
	const malformed = "Statement wasn't well formed, can't be processed: "

	for statement, want := range map[string]string{
		`SLECT * FROM "t"`:                                                                        malformed + "Expected data manipulation",
		`SELECT * FROM "t" WHERE pk = 1 foo`:                                                      malformed + "Unexpected token after expression",
		`SELECT * FROM "t" WHERE pk = true (a = b)`:                                               malformed + "Unexpected token after expression",
		`SELECT * FROM "t" WHERE pk = 1)`:                                                         malformed + "Unexpected token after expression",
		`INSERT INTO "t" x VALUE {'pk': 'x'}`:                                                     malformed + "Unexpected token after expression",
		`SELECT * FROM "t" ORDER BY pk WHERE pk = 1`:                                              malformed + "Unexpected token after expression",
		`SELECT * FROM "t" WHERE pk = 1e2147483648`:                                               malformed,
		`SELECT * FROM "t" WHERE pk = 1.5e-2147483647`:                                            malformed,
		`SELECT * FROM "t" WHERE pk = 1 # note`:                                                   malformed,
		`SELECT * FROM "t" WHERE pk = 1 /* note`:                                                  malformed,
		`SELECT * FROM "t`:                                                                        malformed,
		`UPDATE "t"."i" SET a = 3 WHERE pk = 'x'`:                                                 "This operation is not supported on an index",
		`DELETE FROM "t"."i" WHERE pk = 'x'`:                                                      "This operation is not supported on an index",
		`UPDATE "t" x SET a = 3 WHERE pk = 'x'`:                                                   "Aliasing is not supported",
		`SELECT * FROM "t" AS x WHERE pk = 'x'`:                                                   "Aliasing is not supported",
		`SELECT * FROM "t" WHERE pk = 1e126`:                                                      "Number overflow. Attempting to store a number with magnitude larger than supported range under root",
		`INSERT INTO "t" VALUE {'pk': 1, 'm': {'x': 1e126}}`:                                      "Number overflow. Attempting to store a number with magnitude larger than supported range under root.x",
		`INSERT INTO "t" VALUE {'pk': 1, 'l': [1, 1e126]}`:                                        "Number overflow. Attempting to store a number with magnitude larger than supported range under root[1]",
		`SELECT * FROM "t" WHERE attribute_exists(m.inner)`:                                       malformed + "Invalid path dot component",
		`SELECT * FROM "t" WHERE EXISTS(ss)`:                                                      "Unrecognized function: exists at 1:25:6",
		`UPDATE "t" SET s = set_add(x, <<'x'>>) WHERE pk = 1`:                                     "The first argument to SET_ADD must equal the assignment value at 1:20:7",
		`UPDATE "t" SET s = set_delete(s, 'x') WHERE pk = 1`:                                      "The second argument to SET_DELETE must be a value with type SET at 1:31:1",
		`UPDATE "t" SET s = set_add(s, <<'x', 'x'>>) WHERE pk = 1`:                                "One or more parameter values were invalid: Input collection [x, x] contains duplicates.",
		`DELETE FROM "t" WHERE pk = 'x' RETURNING MODIFIED NEW *`:                                 "Invalid returning clause: RETURNING MODIFIED NEW *. Only RETURNING ALL OLD * is allowed in DELETE statements.",
		`SELECT pk FROM "t" WHERE pk = 'x' AND val < true`:                                        "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
		`SELECT pk FROM "t"."i"."x"`:                                                              "A path may contain at most 2 components in the FROM clause",
		`SELECT pk FROM ""`:                                                                       "Path component cannot be an empty string",
		`SELECT pk FROM "t" WHERE pk = ?`:                                                         "Number of parameters in request and statement don't match.",
		`SELECT pk FROM "t" WHERE l = ` + strings.Repeat("[", 40) + "1" + strings.Repeat("]", 40): "Nesting Levels have exceeded supported limits",
	} {
		if _, err := Parse(statement, nil); err == nil || !strings.HasPrefix(err.Error(), want) || want != malformed && err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", statement, err, want)
		}
	}
}

// A value is no condition, whichever operator it comes from.
func TestArithmeticIsNoCondition(t *testing.T) {
	for _, operator := range arithmetic {
		want := "Unsupported operator in Condition Expression. Operator: " + operator

		for _, where := range []string{"a %s b", "pk = 'x' AND a %s b", "NOT a %s b", "(a %s b)", "pk = 'x' OR (a %s b) IS NULL"} {
			statement := fmt.Sprintf(`SELECT * FROM "t" WHERE `+where, operator)
			if _, err := Parse(statement, nil); err == nil || err.Error() != want {
				t.Errorf("%s\n got %v\nwant %s", statement, err, want)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`SELECT a, b.c[0] FROM "t"."i" WHERE a = ? AND NOT (b IN [1, 2] OR c IS NULL) ORDER BY a DESC`,
		`INSERT INTO t VALUE {'a': [1, {'b': <<'x'>>}], 'c': -1.5e3, 'd': null}`,
		`UPDATE t SET a.b = a.b + 1, c = list_append(c, [?]) REMOVE d WHERE a = 'x' RETURNING ALL NEW *`,
		`FROM t WHERE a = 1 SET b = set_add(b, <<1>>)`,
		`DELETE FROM t WHERE a BETWEEN 1 AND 2 AND begins_with(b, 'x') -- end`,
		`EXISTS(SELECT * FROM t WHERE a = 1 AND size(b) > 2)`,
		`FROM A WHERE 0%0 SET A=0`,
	} {
		f.Add(s)
	}

	item := attr.Item{"a": {Kind: attr.N, Str: "1"}, "b": {Kind: attr.S, Str: "x"}}
	f.Fuzz(func(t *testing.T, src string) {
		s, err := Parse(src, []attr.Value{{Kind: attr.N, Str: "7"}, {Kind: attr.L}})
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a message")
			}

			return
		}

		for _, e := range s.Where.Conjuncts() {
			_, _ = e.Comparison()
		}

		if s.Condition != nil {
			if _, err := s.Condition.Match(item); err != nil {
				t.Error(err)
			}
		}

		if s.Update != nil {
			_, _ = s.Update.Apply(item)
		}

		if s.Item.Err() != nil {
			t.Errorf("an item with a bad value: %v", s.Item.Err())
		}
	})
}
