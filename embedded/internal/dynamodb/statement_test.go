package dynamodb

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/statements"
)

// openOrders opens a service with a table of orders by shop and number, with an index by state.
func openOrders(t *testing.T) *Service {
	t.Helper()

	s, closeService := openService(t, t.TempDir())
	t.Cleanup(closeService)

	request(t, s, "CreateTable", `{"TableName":"orders","BillingMode":"PAY_PER_REQUEST",
		"KeySchema":[{"AttributeName":"shop","KeyType":"HASH"},{"AttributeName":"num","KeyType":"RANGE"}],
		"AttributeDefinitions":[{"AttributeName":"shop","AttributeType":"S"},{"AttributeName":"num","AttributeType":"N"},{"AttributeName":"state","AttributeType":"S"}],
		"GlobalSecondaryIndexes":[{"IndexName":"by-state","KeySchema":[{"AttributeName":"state","KeyType":"HASH"},{"AttributeName":"num","KeyType":"RANGE"}],
			"Projection":{"ProjectionType":"KEYS_ONLY"}}]}`)

	return s
}

func execute(t *testing.T, s *Service, statement, more string) string {
	t.Helper()

	text, err := json.Marshal(statement)
	if err != nil {
		t.Fatal(err)
	}

	return request(t, s, "ExecuteStatement", `{"Statement":`+string(text)+more+`}`)
}

// TestStatements runs statements in order and compares the whole answers. tests/conformance
// compares the answers of DynamoDB Local to the same statements.
func TestStatements(t *testing.T) {
	s := openOrders(t)

	const (
		ok      = `{"Items":[]}`
		refused = "ConditionalCheckFailedException: The conditional request failed"
		invalid = "ValidationException: "
	)

	for _, tt := range []struct{ statement, more, want string }{
		{`INSERT INTO orders VALUE {'shop':'a','num':1,'state':'paid','tags':<<'x','y'>>}`, "", ok},
		{`INSERT INTO orders VALUE {'shop':'a','num':1}`, "", "DuplicateItemException: Duplicate primary key exists in table"},
		{`INSERT INTO orders VALUE {'shop':'a'}`, "", invalid + "Key attribute should be present in the item: Key num"},
		{`UPDATE orders SET n = 1 WHERE shop = 'a' AND num = 2`, "", refused},
		{`UPDATE orders SET n = 1 SET tags = set_delete(tags, <<'x'>>) REMOVE state WHERE shop = 'a' AND num = 1 AND state = 'paid' RETURNING MODIFIED NEW *`, "",
			`{"Items":[{"n":{"N":"1"},"tags":{"SS":["y"]}}]}`},
		{`UPDATE orders SET n = 1 WHERE shop = 'a' AND num = 1 AND state = 'paid'`, `,"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`, refused},
		{`FROM orders WHERE shop = 'a' AND num = 1 SET n = n + ? RETURNING ALL NEW *`, `,"Parameters":[{"N":"5"}]`,
			`{"Items":[{"n":{"N":"6"},"num":{"N":"1"},"shop":{"S":"a"},"tags":{"SS":["y"]}}]}`},
		{`UPDATE orders SET n = 1 WHERE shop = 'a'`, "", invalid + "Where clause does not contain a mandatory equality on all key attributes"},
		{`DELETE FROM orders WHERE shop = 'none' AND num = 1 AND n = 7`, "", ok},
		{`DELETE FROM orders WHERE shop = 'a' AND num = 1 AND n = 7`, "", refused},
		{`DELETE FROM orders WHERE shop = 'a' AND num = 1 RETURNING ALL OLD *`, `,"ReturnConsumedCapacity":"TOTAL"`,
			`{"Items":[{"n":{"N":"6"},"num":{"N":"1"},"shop":{"S":"a"},"tags":{"SS":["y"]}}],"ConsumedCapacity":{"TableName":"orders","CapacityUnits":1.0}}`},
		{`SELECT * FROM orders`, "", ok},
		{`SELECT state FROM absent`, "", "ResourceNotFoundException: Requested resource not found"},
		{`SELECT * FROM orders."by-state" WHERE state = 'x' AND n = 1`, "",
			invalid + "One or more parameter values were invalid: Secondary index by-state does not project one or more filter attributes: [n]"},
		{`SELECT n, m FROM orders."by-state"`, "", invalid + "One or more parameter values were invalid: Global secondary index by-state does not project [n, m]"},
		{`SELECT * FROM orders."by-state" WHERE state = 'x'`, `,"ConsistentRead":true`, invalid + "Strongly consistent read is not supported on Global Secondary Indexes"},
		{`SELECT * FROM orders WHERE shop = 'a' ORDER BY n`, "", invalid + "Variable reference n in ORDER BY clause must be part of the primary key"},
		{`SELECT * FROM orders`, `,"NextToken":"e30="`, invalid + "NextToken does not match request"},
		{`EXISTS(SELECT * FROM orders WHERE shop = 'a')`, "", invalid + "EXISTS can only be used in ExecuteTransaction write requests."},
	} {
		if got := execute(t, s, tt.statement, tt.more); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.statement, got, tt.want)
		}
	}
}

// TestAForgedNextTokenIsRefused makes tokens with the right digest and keys that the index cannot have.
func TestAForgedNextTokenIsRefused(t *testing.T) {
	s := openOrders(t)

	for _, statement := range []string{`SELECT * FROM orders`, `SELECT * FROM orders."by-state"`, `SELECT * FROM orders."by-state" WHERE state = 'x'`} {
		in := statements.Request{Statement: &statement}

		for _, key := range []attr.Item{
			nil,
			{"shop": text("a")},
			{"shop": text("a"), "num": text("1")},
			{"shop": text("a"), "num": {Kind: attr.N, Str: "1"}, "state": {Kind: attr.BOOL}},
			{"shop": text("a"), "num": {Kind: attr.N, Str: "1"}, "state": {Kind: attr.L}},
			{"shop": text("a"), "num": {Kind: attr.N, Str: "1"}, "other": text("x")},
		} {
			got := execute(t, s, statement, `,"NextToken":"`+in.TokenAfter(key)+`"`)
			if got != "ValidationException: NextToken does not match request" {
				t.Errorf("%s with %v: %s", statement, key, got)
			}
		}
	}
}

// TestEveryColumnIsShown: columns within lists lose nothing to each other. The names are DynamoDB Local's
// (3.1.0); where elements of two lists would have one name, it is this engine's choice.
func TestEveryColumnIsShown(t *testing.T) {
	s := openOrders(t)
	execute(t, s, `INSERT INTO orders VALUE {'shop':'a','num':1,'l':[{'c':1,'d':2},{'c':3,'d':4}],'x':{'l':[{'c':5,'d':6},{'c':7,'d':8}]}}`, "")

	for columns, want := range map[string]string{
		"l[0].c":               `{"c":{"N":"1"}}`,
		"l[0].c, l[0].d":       `{"c":{"N":"1"},"d":{"N":"2"}}`,
		"l[0].c, x.l[0].d":     `{"c":{"N":"1"},"d":{"N":"6"}}`,
		"x.l[0], l[0].c":       `{"c":{"N":"1"},"l[0]":{"M":{"c":{"N":"5"},"d":{"N":"6"}}}}`,
		"l[1].c":               `{"l[1]":{"M":{"c":{"N":"3"}}}}`,
		"l[1].c, l[1].d":       `{"l[1]":{"M":{"c":{"N":"3"},"d":{"N":"4"}}}}`,
		"l[1].c, x.l[1].d":     `{"d":{"N":"8"},"l[1]":{"M":{"c":{"N":"3"}}}}`,
		"l[1], x.l[1].c":       `{"c":{"N":"7"},"l[1]":{"M":{"c":{"N":"3"},"d":{"N":"4"}}}}`,
		"l[1].c, l[0].d, shop": `{"d":{"N":"2"},"l[1]":{"M":{"c":{"N":"3"}}},"shop":{"S":"a"}}`,
	} {
		if got := execute(t, s, "SELECT "+columns+" FROM orders", ""); got != `{"Items":[`+want+`]}` {
			t.Errorf("%s: %s, want %s", columns, got, want)
		}
	}
}

// TestStatementsReadOnlyTheirKeys pages through two partitions in both orders, and counts what
// a read by key costs.
func TestStatementsReadOnlyTheirKeys(t *testing.T) {
	s := openOrders(t)

	for n := range 60 {
		execute(t, s, fmt.Sprintf(`INSERT INTO orders VALUE {'shop':'%c','num':%d,'state':'s','pad':'%s'}`, 'a'+n%3, n, strings.Repeat("x", 1000)), "")
	}

	for _, tt := range []struct{ statement, want string }{
		{`SELECT num FROM orders WHERE shop IN ['c','a'] AND num < 12 ORDER BY num`, "0 3 6 9 2 5 8 11"},
		{`SELECT num FROM orders WHERE shop IN ['c','a'] AND num < 12 ORDER BY shop DESC, num DESC`, "11 8 5 2 9 6 3 0"},
		{`SELECT num FROM orders."by-state" WHERE state = 's' AND num BETWEEN 20 AND 26 ORDER BY num DESC`, "26 25 24 23 22 21 20"},
	} {
		var read []string
		token := ""
		for pages := 0; pages < 20; pages++ {
			var page struct {
				Items     []struct{ Num struct{ N string } }
				NextToken string
			}
			if err := json.Unmarshal([]byte(execute(t, s, tt.statement, `,"Limit":3`+token)), &page); err != nil {
				t.Fatal(err)
			}

			for _, it := range page.Items {
				read = append(read, it.Num.N)
			}

			if page.NextToken == "" {
				break
			}
			token = `,"NextToken":"` + page.NextToken + `"`
		}

		if got := strings.Join(read, " "); got != tt.want {
			t.Errorf("%s\n read %s\n want %s", tt.statement, got, tt.want)
		}
	}

	one := execute(t, s, `SELECT num FROM orders WHERE shop = 'a' AND num = 3`, `,"ReturnConsumedCapacity":"TOTAL"`)
	if !strings.Contains(one, `"CapacityUnits":0.5`) {
		t.Errorf("one item costs more than itself: %s", one)
	}
}

func TestStatementsInBatchesAndTransactions(t *testing.T) {
	s := openOrders(t)

	batch := func(operation, member string, statements ...string) string {
		var list []string
		for _, st := range statements {
			list = append(list, fmt.Sprintf(`{"Statement":%q}`, st))
		}

		return request(t, s, operation, `{"ReturnConsumedCapacity":"TOTAL","`+member+`":[`+strings.Join(list, ",")+`]}`)
	}

	for _, tt := range []struct {
		name, got, want string
	}{
		{"a batch of writes", batch("BatchExecuteStatement", "Statements", `INSERT INTO orders VALUE {'shop':'a','num':1}`, `UPDATE orders SET n = 1 WHERE shop = 'b' AND num = 1`, `SLECT`),
			`{"Responses":[{"TableName":"orders"},{"Error":{"Code":"ConditionalCheckFailed","Message":"The conditional request failed"},"TableName":"orders"},` +
				`{"Error":{"Code":"ValidationError","Message":"Statement wasn't well formed, can't be processed: Expected data manipulation"}}],"ConsumedCapacity":[{"TableName":"orders","CapacityUnits":1.0}]}`},
		{"a batch of reads", batch("BatchExecuteStatement", "Statements", `SELECT num FROM orders WHERE shop = 'a' AND num = 1`, `SELECT num FROM orders WHERE shop = 'a'`),
			`{"Responses":[{"Item":{"num":{"N":"1"}},"TableName":"orders"},{"Error":{"Code":"ValidationError","Message":"Select statements within BatchExecuteStatement must specify the primary key in the where clause."}}],` +
				`"ConsumedCapacity":[{"TableName":"orders","CapacityUnits":0.5}]}`},
		{"a transaction that fails", batch("ExecuteTransaction", "TransactStatements", `INSERT INTO orders VALUE {'shop':'a','num':2}`, `INSERT INTO orders VALUE {'shop':'a','num':1}`),
			"TransactionCanceledException: Transaction cancelled, please refer cancellation reasons for specific reasons [None, ValidationError]"},
		{"writes nothing", execute(t, s, `SELECT num FROM orders WHERE num = 2`, ""), `{"Items":[]}`},
		{"a transaction with a check", batch("ExecuteTransaction", "TransactStatements", `INSERT INTO orders VALUE {'shop':'a','num':2}`, `EXISTS(SELECT * FROM orders WHERE shop = 'a' AND num = 1 AND n IS MISSING)`),
			`{"Responses":[],"ConsumedCapacity":[{"TableName":"orders","CapacityUnits":4.0,"WriteCapacityUnits":4.0}]}`},
		{"a transaction of reads", batch("ExecuteTransaction", "TransactStatements", `SELECT num FROM orders WHERE shop = 'a' AND num = 2`, `SELECT * FROM orders WHERE shop = 'b' AND num = 2`),
			`{"Responses":[{"Item":{"num":{"N":"2"}}},{}],"ConsumedCapacity":[{"TableName":"orders","CapacityUnits":4.0,"ReadCapacityUnits":4.0}]}`},
		{"an index in a transaction", batch("ExecuteTransaction", "TransactStatements", `SELECT * FROM orders."by-state" WHERE state = 'a'`),
			"ValidationException: Validation failed in TransactStatements[0]: Reads on indices are not supported within transactions."},
	} {
		if tt.got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.name, tt.got, tt.want)
		}
	}
}
