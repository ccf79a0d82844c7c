// Package costs measures what orders cost on DynamoDB, in capacity units. It makes every call
// on an embedded engine that reports what DynamoDB would bill, failed conditions included;
// no number comes from a formula. The results are the tables of docs/reference/costs.md, and a test compares
// the two.
package costs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded"
)

// Units are capacity units.
type Units struct{ Read, Write float64 }

func (u Units) plus(v Units) Units { return Units{Read: u.Read + v.Read, Write: u.Write + v.Write} }

// bill adds up the consumption of the engine's calls, by table.
type bill struct {
	mu     sync.Mutex
	tables map[string]Units
	last   map[string]Units // by table, of the newest call of bill.of
}

func (b *bill) add(table string, read, write float64) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.tables[table] = b.tables[table].plus(Units{Read: read, Write: write})
}

// take returns the sums and resets them.
func (b *bill) take() map[string]Units {
	b.mu.Lock()
	defer b.mu.Unlock()

	tables := b.tables
	b.tables = map[string]Units{}

	return tables
}

// of makes the call and returns its consumption in all tables together.
func (b *bill) of(call func() error) (Units, error) {
	// The consumption of earlier calls does not count.
	b.take()
	err := call()
	b.last = b.take()

	return sum(b.last), err
}

// calls makes t a table of calls, and returns a function that makes a call and adds its row. After an error it makes none.
func (b *bill) calls(t *Table, err *error) func(name string, call func() error) {
	t.Head = []string{"call", "read units", "write units"}

	return func(name string, call func() error) {
		if *err != nil {
			return
		}

		var u Units
		u, *err = b.of(call)
		t.Rows = append(t.Rows, []string{name, number(u.Read), number(u.Write)})
	}
}

// sum returns the consumption of all tables together.
func sum(tables map[string]Units) (all Units) {
	for _, u := range tables {
		all = all.plus(u)
	}

	return all
}

// meteredEngine is an embedded engine with a bill.
type meteredEngine struct {
	*bill
	db    *dynamodb.Client
	close func() error
}

func openEngine(ctx context.Context, tables ...*dynamodb.CreateTableInput) (*meteredEngine, error) {
	dir, err := os.MkdirTemp("", "ratchet-costs-*")
	if err != nil {
		return nil, err
	}

	b := &bill{tables: map[string]Units{}}

	engine, err := embedded.Open(embedded.Config{Dir: dir, Log: quiet, Consumed: b.add})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}

	l := &meteredEngine{
		bill: b,
		db:   dynamodb.NewFromConfig(engine.AWSConfig()),
		// The engine is closed before its files are removed.
		close: func() error { return errors.Join(engine.Close(), os.RemoveAll(dir)) },
	}
	for _, in := range tables {
		if _, err := l.db.CreateTable(ctx, in); err != nil {
			return nil, errors.Join(fmt.Errorf("create table %s: %w", aws.ToString(in.TableName), err), l.close())
		}
	}

	return l, nil
}

var quiet = slog.New(slog.DiscardHandler)

// bytes returns the size of a table's only item, as DynamoDB counts it.
func (l *meteredEngine) bytes(ctx context.Context, table string) (int64, error) {
	out, err := l.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return 0, err
	}

	return aws.ToInt64(out.Table.TableSizeBytes), nil
}

// Table is a table of measured numbers.
type Table struct {
	Head []string
	Rows [][]string
}

// String returns the table in Markdown.
func (t Table) String() string {
	var b strings.Builder

	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.Head)

	rule := make([]string, len(t.Head))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)

	for _, row := range t.Rows {
		line(row)
	}

	return b.String()
}

// number writes units with one decimal place, unless that is 0.
func number(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }

// Part is one table and how to measure it.
type Part struct {
	// Name is the table's name in docs/reference/costs.md.
	Name string
	// Measure makes the calls and returns the table.
	Measure func(context.Context) (Table, error)
	// Exact is set when every run measures the same.
	Exact bool
}

// Parts returns the tables of docs/reference/costs.md in their order there.
func Parts() []Part {
	return []Part{
		{Name: "paths", Measure: measurePaths, Exact: true},
		{Name: "sizes", Measure: measureSizes, Exact: true},
		{Name: "histories", Measure: histories, Exact: true},
		{Name: "patterns", Measure: measurePatterns, Exact: true},
		{Name: "payments", Measure: measurePaymentTable, Exact: true},
		{Name: "lists", Measure: measureLists, Exact: true},
		{Name: "timers", Measure: measureTimers, Exact: true},
		{Name: "scheduled", Measure: measureScheduled, Exact: true},
		{Name: "life", Measure: measureLife},
		{Name: "order", Measure: measureOrder},
		{Name: "idle", Measure: idle},
	}
}
