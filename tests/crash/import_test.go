package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/once/inventory"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/tests/program"
	"ratchet/transitions"
	"ratchet/workflow"
)

var flagImports = flag.Int("imports", 2000, "how many orders are imported while the import, and then the engine with its workers, are killed")

// imported is an import run with its counts.
type imported struct{ Read, Imported, Already, Refused, BadLines int }

// importing runs `ratchet orders import`.
type importing struct{ bin, dir, file, endpoint string }

// start runs an import of the file, or of standard input if it is not nil.
func (i importing) start(t *testing.T, name string, input *os.File) *program.Process {
	t.Helper()

	file := i.file
	if input != nil {
		file = "-"
	}
	args := []string{"orders", "import", file, "--endpoint-url", i.endpoint, "--json", "--quiet", "--order-lists"}

	return program.Process{Bin: i.bin, Args: args, Dir: i.dir, Name: name, Stdin: input}.Start(t)
}

// hanging runs an import that gets three quarters of the file, and waits for the rest until it is killed.
func (i importing) hanging(t *testing.T, name string) *program.Process {
	t.Helper()

	text, err := os.ReadFile(i.file)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(bytes.Lines(text))

	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}

	running := i.start(t, name, in)
	if err := in.Close(); err != nil { // the process has its own
		t.Fatal(err)
	}

	written := make(chan struct{})
	go func() {
		defer close(written)

		_, _ = out.Write(bytes.Join(lines[:len(lines)*3/4], nil)) // fails when the process is killed
	}()

	t.Cleanup(func() {
		_ = out.Close()
		<-written
	})

	return running
}

// toEnd runs an import that nothing interrupts, and returns its counts.
func (i importing) toEnd(t *testing.T, name string) (counts imported) {
	t.Helper()

	running := i.start(t, name, nil)
	line := running.FirstLine(t)

	if status := running.Wait(t); status != 0 {
		t.Fatalf("%s: exit status %d: %s", name, status, program.End(running.Log()))
	}

	if err := json.Unmarshal([]byte(line), &counts); err != nil {
		t.Fatal(line, err)
	}

	return counts
}

// underWay writes a file with orders in every state.
func underWay(t *testing.T, name string, orders int) (states map[transitions.OrderID]workflow.State) {
	t.Helper()

	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(file)

	states, all := map[transitions.OrderID]workflow.State{}, workflow.Order().States()
	for n := range orders {
		id, state := transitions.OrderID(fmt.Sprintf("old-%d", n)), all[n%len(all)].State
		states[id] = state

		fmt.Fprintf(out, `{"orderId":%q,"state":%q,"items":[{"sku":"mug","quantity":1,"price":100}],"total":{"amount":100,"currency":"EUR"},"customer":"c-%d"}`+"\n",
			id, state, n%50)
	}

	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}

	if err := file.Close(); err != nil {
		t.Fatal(err)
	}

	return states
}

// TestKillNineInTheMiddleOfAnImport kills the import, and then the engine with its workers, while orders in every
// state are imported. A repeat goes on. Every order is here once in its state, journal and lists show it, and the sandbox
// carrier, the bank, the stock and the receiver of notifications know nothing of it.
func TestKillNineInTheMiddleOfAnImport(t *testing.T) {
	t.Parallel()

	bin, dir, listen := program.Self(t, "ratchet"), t.TempDir(), program.FreeAddress(t)
	settings := []string{"--refund-returns", "--order-lists", "--decline-percent", "0", "--timeout-percent", "0"}
	running := start(t, bin, dir, listen, settings...)

	b, err := server.Connect(t.Context(), server.Config{EndpointURL: "http://" + listen, OrderLists: true}, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	// Each order is written, read again by two repeats, journaled, listed and verified, perhaps on a busy machine.
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute+time.Duration(*flagImports)*40*time.Millisecond)
	defer cancel()

	if err := b.Stock.Set(ctx, "mug", 10); err != nil {
		t.Fatal(err)
	}

	run := importing{bin: bin, dir: dir, file: filepath.Join(dir, "orders.jsonl"), endpoint: b.Config.EndpointURL}
	states := underWay(t, run.file, *flagImports)

	first := run.hanging(t, "import-1")
	untilPlaced(ctx, t, b, *flagImports/4)
	first.Kill(t)

	second := run.hanging(t, "import-2")
	untilPlaced(ctx, t, b, *flagImports/2)
	running.Kill(t)
	second.Kill(t)

	running = start(t, bin, dir, listen, settings...)
	here := count(ctx, t, b, b.Tables.Orders)

	if here < *flagImports/2 || here >= *flagImports {
		t.Errorf("%d of %d orders were here when the import was killed", here, *flagImports)
	}

	if got, want := run.toEnd(t, "import-3"), (imported{Read: *flagImports, Imported: *flagImports - here, Already: here}); got != want {
		t.Errorf("the repeat counts %+v, want %+v", got, want)
	}

	if got, want := run.toEnd(t, "import-4"), (imported{Read: *flagImports, Already: *flagImports}); got != want {
		t.Errorf("the next repeat counts %+v, want %+v", got, want)
	}

	control(ctx, t, b)
	untilJournaled(ctx, t, b, states)

	// The control order alone has a shipment; it was paid by hand.
	for table, want := range map[string]int{b.Tables.SandboxShipments: 1, b.Tables.SandboxCharges: 0, b.Tables.Payments: 0, b.Tables.Ledger.Transfers: 0} {
		if got := effectsIn(ctx, t, b, table); got != want {
			t.Errorf("table %s knows of %d orders, want %d", table, got, want)
		}
	}

	if level, _, err := b.Stock.Level(ctx, "mug"); err != nil || (level != inventory.Level{SKU: "mug", Available: 9, Committed: 1}) {
		t.Errorf("stock %+v, %v", level, err)
	}

	notified, err := os.ReadDir(filepath.Join(dir, "notifications"))
	if err != nil {
		t.Error(err)
	}

	for _, file := range notified {
		if strings.Contains(file.Name(), "old-") {
			t.Errorf("an imported order was notified: %s", file.Name())
		}
	}

	if len(notified) == 0 {
		t.Error("the control order was not notified")
	}
	running.Stop(t)
}

// control places and pays an order, and waits until the carrier has delivered it: the workers handle what they get.
func control(ctx context.Context, t *testing.T, b *server.Backend) {
	t.Helper()

	if _, err := b.Orders.Create(ctx, transitions.NewOrder{
		ID: "new-1", Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 1}}, Total: transitions.Money{Amount: 1, Currency: "EUR"},
	}); err != nil {
		t.Fatal(err)
	}

	if r, err := b.Orders.Apply(ctx, transitions.Request{OrderID: "new-1", Event: workflow.Pay, TransitionID: 2}); err != nil || r.Verdict != transitions.Applied {
		t.Fatal(r.Verdict, err)
	}

	untilMoved(ctx, t, b, "new-1", 4) // the carrier has delivered it
}

// awaits waits between two looks at tables, as long as the look took that began at the time: a look takes longer the more
// orders there are, and what is looked for needs the machine, too.
func awaits(ctx context.Context, t *testing.T, began time.Time) {
	t.Helper()

	select {
	case <-ctx.Done():
		t.Fatal(context.Cause(ctx))
	case <-time.After(max(5*time.Millisecond, time.Since(began))):
	}
}

// untilJournaled waits until the journal and the lists show every imported order in its state, once.
func untilJournaled(ctx context.Context, t *testing.T, b *server.Backend, states map[transitions.OrderID]workflow.State) {
	t.Helper()

	for began := time.Now(); count(ctx, t, b, b.Tables.Events) < len(states)+4; began = time.Now() {
		awaits(ctx, t, began)
	}

	for {
		began := time.Now()
		var faults []string
		behind, elsewhere, paid := 0, 0, 0

		err := inspect.Verify(ctx, b.Orders, func(c inspect.Check) error {
			if want, old := states[c.OrderID]; old {
				if want != c.State || c.TransitionID != 1 {
					faults = append(faults, fmt.Sprintf("%s is %s at %d, want %s", c.OrderID, c.State, c.TransitionID, want))
				}

				if b.Orders.Definition().IsPaid(want) {
					paid++
				}
			}

			if c.Elsewhere {
				elsewhere++
			}

			for _, f := range c.Findings {
				if f.Kind == inspect.FindingBehind {
					behind++
				} else {
					faults = append(faults, fmt.Sprintf("%s: %s", c.OrderID, f.Detail))
				}
			}

			return nil
		})
		if err != nil {
			t.Fatal(err)
		}

		if len(faults) > 0 {
			t.Fatalf("%d faults: %v", len(faults), faults[:min(5, len(faults))])
		}

		if behind == 0 && elsewhere == paid {
			break
		}
		awaits(ctx, t, began)
	}

	if rows := count(ctx, t, b, b.Tables.Events); rows != len(states)+4 {
		t.Errorf("the journal has %d rows, want one for each of %d imports and 4", rows, len(states))
	}

	untilListed(ctx, t, b, states)
}

// untilListed waits until the lists of a state have its orders, by one page of the newest.
func untilListed(ctx context.Context, t *testing.T, b *server.Backend, states map[transitions.OrderID]workflow.State) {
	t.Helper()

	for {
		began := time.Now()

		listed := effectsIn(ctx, t, b, b.Tables.OrderLists)
		if listed == len(states)+1 {
			return
		}
		awaits(ctx, t, began)
	}
}

// count counts the items of a table.
func count(ctx context.Context, t *testing.T, b *server.Backend, table string) (n int) {
	t.Helper()

	pages := dynamodb.NewScanPaginator(b.DynamoDB, &dynamodb.ScanInput{TableName: &table, Select: types.SelectCount, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		n += int(page.Count)
	}

	return n
}

// effectsIn counts the orders of which a table knows: shipments by their status, orders in lists by their heads, and
// else every item.
func effectsIn(ctx context.Context, t *testing.T, b *server.Backend, table string) (n int) {
	t.Helper()

	pages := dynamodb.NewScanPaginator(b.DynamoDB, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}

		switch table {
		case b.Tables.SandboxShipments:
			page.Items = slices.DeleteFunc(page.Items, func(item dynamo.Item) bool { return dynamo.Text(item, "status") == "" })
		case b.Tables.OrderLists:
			page.Items = slices.DeleteFunc(page.Items, func(item dynamo.Item) bool { return dynamo.Text(item, "placeKey") != "head" })
		}
		n += len(page.Items)
	}

	return n
}
