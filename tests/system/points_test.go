package system

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"ratchet"
	"ratchet/embedded/embeddedtest"
	"ratchet/once"
	"ratchet/operate/executions"
	"ratchet/server"
	"ratchet/streams"
	"ratchet/transitions"
	"ratchet/workflow"
)

// open returns an embedded backend with all its tables.
func open(t *testing.T) *server.Backend {
	t.Helper()

	b, err := server.Embed(server.Config{Data: t.TempDir()}.WithDefaults(), embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})

	if err := b.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	return b
}

var order = transitions.NewOrder{
	ID:    "o-1",
	Items: []transitions.Item{{SKU: "mug", Quantity: 1, Price: 100}},
	Total: transitions.Money{Amount: 100, Currency: "EUR"},
}

type image = map[string]types.AttributeValue

// item reads the order's item, as a stream record would contain it.
func item(t *testing.T, b *server.Backend) image {
	t.Helper()

	out, err := b.DynamoDB.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName:      &b.Tables.Orders,
		ConsistentRead: aws.Bool(true),
		Key:            image{"orderId": &types.AttributeValueMemberS{Value: "o-1"}},
	})
	if err != nil {
		t.Fatal(err)
	}

	return out.Item
}

func apply(t *testing.T, b *server.Backend, event workflow.Event, id transitions.TransitionID) {
	t.Helper()

	if r, err := b.Orders.Apply(t.Context(), transitions.Request{
		OrderID:      "o-1",
		Event:        event,
		TransitionID: id,
	}); err != nil || r.Verdict != transitions.Applied {
		t.Fatalf("%s: %s, %v", event, r.Verdict, err)
	}
}

// react passes the records to all handlers, as the poller does.
func react(t *testing.T, b *server.Backend, records ...streams.Record) {
	t.Helper()

	for _, record := range records {
		for _, h := range b.Handlers() {
			if err := h.Handle(t.Context(), record); err != nil {
				t.Fatalf("%s: %v", h.Name, err)
			}
		}
	}
}

// count returns how many items a table has.
func count(t *testing.T, b *server.Backend, table string) int32 {
	t.Helper()

	out, err := b.DynamoDB.Scan(t.Context(), &dynamodb.ScanInput{
		TableName:      &table,
		Select:         types.SelectCount,
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}

	return out.Count
}

func TestPoint43_DeletionsAndMarksTriggerNoWork(t *testing.T) {
	b := open(t)
	if _, err := b.Orders.Create(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	apply(t, b, workflow.Pay, 2)

	before := item(t, b)
	_, _, err := b.Claims.DoInItem(t.Context(), "mark", nil, once.ItemWrite{
		Table:  b.Tables.Orders,
		Key:    image{"orderId": before["orderId"]},
		Set:    "note = :n",
		Values: image{":n": &types.AttributeValueMemberS{Value: "gift"}},
	})
	if err != nil {
		t.Fatal(err)
	}

	after := item(t, b)
	react(t, b,
		streams.Record{EventName: "MODIFY", Old: before, New: after},
		streams.Record{
			EventName: "REMOVE",
			Old:       after,
			Identity:  streams.Identity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"},
		})

	if claims, notices := count(t, b, b.Tables.Once), count(t, b, b.Tables.Deliveries); claims != 0 || notices != 0 {
		t.Errorf("%d effects claimed, %d notifications stored", claims, notices)
	}
}

func TestPoint44_RepeatedAndReorderedRecordsHaveOneEffectEach(t *testing.T) {
	b := open(t)
	if _, err := b.Orders.Create(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	created := item(t, b)
	apply(t, b, workflow.Pay, 2)
	paid := item(t, b)
	apply(t, b, workflow.Ship, 3)
	shipped := item(t, b)
	pay, ship := streams.Record{Old: created, New: paid}, streams.Record{Old: paid, New: shipped}

	// A worker that crashed before its checkpoint gets records again, also behind newer ones.
	react(t, b, pay, pay, ship, pay, ship)

	if n := count(t, b, b.Tables.Deliveries); n != 2 {
		t.Errorf("%d notifications stored, want one for each of two transitions", n)
	}

	if n := count(t, b, b.Tables.SandboxShipments); n != 2 {
		t.Errorf("%d items at the carrier, want two: one booking and its queued report", n)
	}
}

func TestPoint46_AnOrderHasOneExecutionAndItsInputIsCompared(t *testing.T) {
	b := open(t)
	machine, err := b.StateMachineARN(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	first, err := b.Start(t.Context(), machine, order)
	if err != nil {
		t.Fatal(err)
	}

	if again, err := b.Start(t.Context(), machine, order); err != nil || again != first {
		t.Errorf("again: %s, %v", again, err)
	}

	other := order
	other.Items = []transitions.Item{{SKU: "mug", Quantity: 2, Price: 50}}
	if _, err := b.Start(t.Context(), machine, other); !errors.Is(err, executions.ErrOtherOrder) {
		t.Errorf("another order under the same id: %v", err)
	}

	described, err := b.SFN.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &machine})
	if err != nil || described.Type != "STANDARD" {
		t.Errorf("names are unique for STANDARD machines only: %s, %v", described.Type, err)
	}
}

func TestPoint47_AClaimsLeaseIsNoShorterThanItsTasksHeartbeat(t *testing.T) {
	var machine struct {
		States map[string]struct{ HeartbeatSeconds int }
	}
	if err := json.Unmarshal([]byte(ratchet.StateMachine), &machine); err != nil {
		t.Fatal(err)
	}

	lease := server.Config{}.WithDefaults().EffectLease
	tasks := 0
	for name, s := range machine.States {
		if s.HeartbeatSeconds > 0 {
			tasks++
		}

		if float64(s.HeartbeatSeconds) > lease.Seconds() {
			t.Errorf("%s: HeartbeatSeconds %d, lease %s", name, s.HeartbeatSeconds, lease)
		}
	}

	if tasks == 0 {
		t.Error("no task has HeartbeatSeconds")
	}
}

// TestTheListOfPointsNamesTestsThatExist compares docs/internals/points.md with the module: the
// page has a row for each of the 52 points, and every test named in it exists.
func TestTheListOfPointsNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile("../../docs/internals/points.md")
	if err != nil {
		t.Fatal(err)
	}

	all := declared(t)
	for n := 1; n <= 52; n++ {
		row := regexp.MustCompile(`(?m)^\| ` + strconv.Itoa(n) + ` \|.*$`).FindString(string(page))
		names := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(row, -1)
		if len(names) == 0 {
			t.Errorf("point %d has no row with a test", n)
		}

		for _, name := range names {
			if !all[name[1]] {
				t.Errorf("point %d: there is no test %s", n, name[1])
			}
		}
	}
}

// declared returns the names of all tests of the module.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	all, decl := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)

	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}

		text, err := os.ReadFile(path)
		for _, m := range decl.FindAllStringSubmatch(string(text), -1) {
			all[m[1]] = true
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return all
}
