//go:build conformance

package conformance

import (
	"fmt"
	"strings"
	"testing"
)

func statementList(member string, statements ...string) string {
	list := make([]map[string]string, len(statements))
	for i, s := range statements {
		list[i] = map[string]string{"Statement": s}
	}

	return text(map[string]any{member: list})
}

func TestBatchesOfStatements(t *testing.T) {
	withStatementTables(t)

	batch := func(statements ...string) string { return statementList("Statements", statements...) }
	compareRows(t, []row{
		{"nothing", "BatchExecuteStatement", `{}`},
		{"no statements", "BatchExecuteStatement", `{"Statements":[]}`},
		{"an empty statement", "BatchExecuteStatement", batch("")},
		{"reads", "BatchExecuteStatement", batch("SELECT * FROM single WHERE id = 'a'", "SELECT n FROM single WHERE id = 'absent'", "SELECT v FROM ranged WHERE h = 'p' AND r = 1")},
		{"a table that is not there", "BatchExecuteStatement", batch("SELECT * FROM absent WHERE id = 'a'", "SELECT * FROM single WHERE id = 'a'")},
		{"reads of more than one item", "BatchExecuteStatement", batch("SELECT * FROM single", "SELECT * FROM ranged WHERE h = 'p'", "SELECT * FROM single WHERE id = 'a' AND n = 5", "SELECT * FROM single WHERE id IN ['a']")},
		{"a statement that is none", "BatchExecuteStatement", batch("SLECT", "SELECT n FROM single WHERE id = 'a'")},
		{"reads and writes", "BatchExecuteStatement", batch("INSERT INTO single VALUE {'id':'x'}", "SELECT * FROM single WHERE id = 'a'")},
		{"writes", "BatchExecuteStatement", batch("INSERT INTO single VALUE {'id':'x'}", "UPDATE single SET n = 1 WHERE id = 'absent'", "UPDATE single SET n = 1 WHERE id = 'a' RETURNING ALL NEW *", "DELETE FROM single WHERE id = 'none' RETURNING ALL OLD *")},
		{"an item that is there", "BatchExecuteStatement", batch("INSERT INTO single VALUE {'id':'x'}", "UPDATE single REMOVE s WHERE id = 'a' RETURNING MODIFIED NEW *", "DELETE FROM single WHERE id = 'u' RETURNING ALL OLD *")},
		{"one item twice", "BatchExecuteStatement", batch("DELETE FROM single WHERE id = 'x'", "INSERT INTO single VALUE {'id':'x'}")},
		{"one item read twice", "BatchExecuteStatement", batch("SELECT * FROM single WHERE id = 'a'", "SELECT n FROM single WHERE id = 'a'")},
		{"a failed condition that shows the item", "BatchExecuteStatement", `{"Statements":[{"Statement":"DELETE FROM single WHERE id = 'x' AND n = 9","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}]}`},
		{"a clause of another statement", "BatchExecuteStatement", batch("DELETE FROM single WHERE id = 'x' RETURNING MODIFIED OLD *")},
		{"a bad key", "BatchExecuteStatement", batch("INSERT INTO single VALUE {'id':1}", "UPDATE single SET n = 1 WHERE id = 1", "DELETE FROM single WHERE n = 1")},
		{"25", "BatchExecuteStatement", batch(strings.Split(repeated(25, "SELECT * FROM single WHERE id = 'k%d'"), ",")...)},
		{"26", "BatchExecuteStatement", batch(strings.Split(repeated(26, "SELECT * FROM single WHERE id = 'k%d'"), ",")...)},
	})
}

func TestTransactionsOfStatements(t *testing.T) {
	withStatementTables(t)

	transaction := func(statements ...string) string { return statementList("TransactStatements", statements...) }
	insert := "INSERT INTO single VALUE {'id':'x'}"
	compareRows(t, []row{
		{"nothing", "ExecuteTransaction", `{}`},
		{"no statements", "ExecuteTransaction", `{"TransactStatements":[]}`},
		{"reads", "ExecuteTransaction", transaction("SELECT * FROM single WHERE id = 'a'", "SELECT n FROM ranged WHERE h = 'p' AND r = 1", "SELECT * FROM ranged WHERE h = 'p' AND r = 100")},
		{"reads and writes", "ExecuteTransaction", transaction("SELECT * FROM single WHERE id = 'a'", insert)},
		{"a read of a table", "ExecuteTransaction", transaction("SELECT * FROM single")},
		{"a read with a condition", "ExecuteTransaction", transaction("SELECT * FROM single WHERE id = 'a' AND n = 1")},
		{"writes", "ExecuteTransaction", transaction(insert, "UPDATE single SET n = n + 1 WHERE id = 'a'", "DELETE FROM single WHERE id = 'u'")},
		{"what is there", "Scan", `{"TableName":"single"}`},
		{"an item that is there", "ExecuteTransaction", transaction("DELETE FROM single WHERE id = 'a'", insert)},
		{"a condition that fails", "ExecuteTransaction", `{"TransactStatements":[{"Statement":"DELETE FROM single WHERE id = 'a' AND n = 100","ReturnValuesOnConditionCheckFailure":"ALL_OLD"},{"Statement":"UPDATE single SET n = 1 WHERE id = 'nope'"}]}`},
		{"an operand that is not there", "ExecuteTransaction", transaction("UPDATE single SET n = nope WHERE id = 'a'")},
		{"a check that holds", "ExecuteTransaction", transaction("INSERT INTO single VALUE {'id':'y'}", "EXISTS(SELECT * FROM single WHERE id = 'a' AND n = 6)")},
		{"a check that fails", "ExecuteTransaction", transaction("INSERT INTO single VALUE {'id':'z'}", "EXISTS(SELECT * FROM single WHERE id = 'a' AND n = 1000)")},
		{"a check of nothing", "ExecuteTransaction", transaction("INSERT INTO single VALUE {'id':'z'}", "EXISTS(SELECT * FROM single WHERE id = 'a')")},
		{"one item twice", "ExecuteTransaction", transaction("INSERT INTO single VALUE {'id':'z'}", "UPDATE single SET n = 1 WHERE id = 'z'")},
		{"what is returned", "ExecuteTransaction", transaction("UPDATE single SET n = 1 WHERE id = 'a' RETURNING ALL NEW *")},
		{"no statement", "ExecuteTransaction", transaction("SLECT")},
		{"a table that is not there", "ExecuteTransaction", transaction("INSERT INTO absent VALUE {'id':'z'}")},
		{"a key of another type", "ExecuteTransaction", transaction("INSERT INTO single VALUE {'id':1}")},
		{"no key", "ExecuteTransaction", transaction("INSERT INTO single VALUE {'x':1}")},
		{"an update of the key", "ExecuteTransaction", transaction("UPDATE single SET id = 'x' WHERE id = 'a'")},
		{"no key in the clause", "ExecuteTransaction", transaction("DELETE FROM single WHERE n = 1")},
		{"a parameter too few", "ExecuteTransaction", transaction("DELETE FROM single WHERE id = ?")},
		{"a deletion of nothing", "ExecuteTransaction", transaction("DELETE FROM single WHERE id = 'never' AND n = 1")},
		{"a token", "ExecuteTransaction", `{"ClientRequestToken":"tok","TransactStatements":[{"Statement":"UPDATE single SET n = n + 1 WHERE id = 'a'"}]}`},
		{"the token again", "ExecuteTransaction", `{"ClientRequestToken":"tok","TransactStatements":[{"Statement":"UPDATE single SET n = n + 1 WHERE id = 'a'"}]}`},
		{"it was done once", "GetItem", `{"TableName":"single","Key":{"id":{"S":"a"}}}`},
		{"the token with something else", "ExecuteTransaction", `{"ClientRequestToken":"tok","TransactStatements":[{"Statement":"UPDATE single SET n = n + 2 WHERE id = 'a'"}]}`},
	})
}

// TestPagesOfStatements follows the tokens on both sides.
func TestPagesOfStatements(t *testing.T) {
	withStatementTables(t)
	withIndexes(t)

	for n := range 12 {
		quietly(t, "PutItem", fmt.Sprintf(`{"TableName":"ranged","Item":{"h":{"S":"h%d"},"r":{"N":"%d"},"v":{"N":"%d"}}}`, n%3, n, n%4))
		quietly(t, "PutItem", fmt.Sprintf(`{"TableName":"indexed","Item":{"h":{"S":"h%d"},"r":{"S":"r%d"},"s":{"S":"s%d"},"n":{"N":"%d"},"c":{"S":"c"},"v":{"S":"v%d"}}}`, n%3, n, n%2, n, n%4))
	}

	for _, stmt := range []string{
		"SELECT * FROM ranged WHERE h = 'h1' ORDER BY r",
		"SELECT * FROM ranged WHERE h = 'h1' ORDER BY r DESC",
		"SELECT v FROM ranged WHERE h = 'h1' AND r > 3 AND v <> 2 ORDER BY r",
		"SELECT * FROM ranged WHERE h IN ['h2', 'h0'] ORDER BY r",
		"SELECT * FROM ranged WHERE h IN ['h2', 'h0', 'none'] AND r BETWEEN 2 AND 9 ORDER BY h DESC, r DESC",
		"SELECT r, n FROM indexed.\"by-s\" WHERE s = 's1' ORDER BY n",
		"SELECT r, n FROM indexed.\"by-s\" WHERE s IN ['s1', 's0'] AND n < 9 ORDER BY n",
		"SELECT * FROM indexed.\"by-n\" WHERE h = 'h1' AND n >= 4 ORDER BY n",
	} {
		t.Run(stmt, func(t *testing.T) {
			first := 1
			if strings.Contains(stmt, "DESC") {
				first = 13 // DynamoDB Local applies the limit before it orders
			}

			for limit := first; limit < 14; limit += 3 {
				engine, vendor := pagesOf(t, engineSide, stmt, limit), pagesOf(t, vendorSide, stmt, limit)
				if !agree(vendor, engine) {
					t.Errorf("limit %d\n vendor %s\n engine %s", limit, clip(vendor), clip(engine))
				}
			}
		})
	}
}

// TestStatementsOnIndexes has what does not page.
func TestStatementsOnIndexes(t *testing.T) {
	withIndexes(t)
	quietly(t, "PutItem", `{"TableName":"indexed","Item":{"h":{"S":"h"},"r":{"S":"r"},"s":{"S":"s"},"n":{"N":"1"},"c":{"S":"c"},"v":{"S":"v"},"w":{"S":"w"}}}`)
	compareStatements(t, []statement{
		{"SELECT * FROM indexed.\"none\" WHERE c = 'c'", ""},
		{"SELECT * FROM indexed.\"by-c\" WHERE c = 'c' AND n = 1", ""},
		{"SELECT * FROM indexed.\"by-c\" WHERE w = 'w'", ""},
		{"SELECT w FROM indexed.\"by-c\" WHERE c = 'c'", ""},
		{"SELECT w FROM indexed.\"by-n\" WHERE h = 'h'", ""},
		{"SELECT * FROM indexed.\"by-n\" WHERE h = 'h' AND n = 1", ""},
		{"SELECT * FROM indexed.\"by-s\"", ""},
		{"SELECT * FROM indexed.\"by-s\" WHERE s = 1", ""},
		{"SELECT * FROM indexed.\"by-s\" WHERE s = 's' AND n = 'x'", ""},
		{"INSERT INTO indexed VALUE {'h':'h','r':'q','s':1}", ""},
		{"UPDATE indexed SET s = 1 WHERE h = 'h' AND r = 'r'", ""},
	})
	both(t, "ExecuteStatement", `{"Statement":"SELECT * FROM indexed.\"by-s\" WHERE s = 's'","ConsistentRead":true}`)
	both(t, "ExecuteTransaction", `{"TransactStatements":[{"Statement":"SELECT * FROM indexed.\"by-s\" WHERE s = 's'"}]}`)
	both(t, "BatchExecuteStatement", `{"Statements":[{"Statement":"SELECT * FROM indexed.\"by-s\" WHERE s = 's'"}]}`)
}

// pagesOf returns the answers to all pages of a statement, a line each.
func pagesOf(t *testing.T, s *side, stmt string, limit int) string {
	t.Helper()

	body := map[string]any{"Statement": stmt, "Limit": limit}
	var pages []string
	for {
		a := ask(t, s, "ExecuteStatement", text(body))
		token := a.body["NextToken"]
		pages = append(pages, a.line("ExecuteStatement"))

		if token == nil {
			return strings.Join(pages, "\n")
		}
		body["NextToken"] = token
	}
}
