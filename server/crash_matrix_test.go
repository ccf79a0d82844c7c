package server_test

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/payments"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

var allPoints = flag.Bool("all-points", false, "run the crash matrix at every call (make long)")

// story is a course of events of an order and where it must end.
type story struct {
	name    string
	edit    func(*server.Config)
	stock   int64
	before  func(*matrix, transitions.OrderID)
	during  func(*matrix, transitions.OrderID)
	state   workflow.State
	payment workflow.State
	// kept is how much of the order's 1250 the shop has in the end, sold how many mugs.
	kept, sold int64
	booked     bool // the carrier has a shipment that was not canceled
}

var stories = []story{
	{name: "delivered, with callbacks after the wait", state: workflow.Delivered, payment: "CAPTURED", kept: 1250, sold: 1, booked: true},
	{
		name: "delivered, with callbacks before the wait", state: workflow.Delivered, payment: "CAPTURED", kept: 1250, sold: 1, booked: true,
		edit: func(c *server.Config) { c.CarrierDelay = time.Nanosecond },
	},
	{
		name: "delivered, captured at the shipment", state: workflow.Delivered, payment: "CAPTURED", kept: 1250, sold: 1, booked: true,
		edit: func(c *server.Config) { c.PaymentMode = server.PaymentCapture },
	},
	{
		name: "canceled while it waits", state: workflow.Cancelled, payment: "REFUNDED",
		edit:   func(c *server.Config) { c.CarrierDelay = 1000 * time.Hour },
		during: func(m *matrix, id transitions.OrderID) { m.moveFrom(id, workflow.PaymentReceived, workflow.Cancel) },
	},
	{
		name: "charged back while it waits", state: workflow.ChargedBack, payment: "CAPTURED", kept: 1250,
		edit:   func(c *server.Config) { c.CarrierDelay = 1000 * time.Hour },
		during: func(m *matrix, id transitions.OrderID) { m.moveFrom(id, workflow.PaymentReceived, workflow.Chargeback) },
	},
	{
		name: "held, then released", state: workflow.Delivered, payment: "CAPTURED", kept: 1250, sold: 1, booked: true,
		before: func(m *matrix, id transitions.OrderID) { m.place(id); m.moveFrom(id, workflow.Pending, workflow.Hold) },
		during: func(m *matrix, id transitions.OrderID) {
			time.Sleep(3 * time.Second)
			m.moveFrom(id, workflow.OnHold, workflow.Release)
		},
	},
	{
		name: "paid by another caller before it began, without the pieces at first", state: workflow.Delivered, payment: "VOIDED", sold: 1, booked: true,
		before: func(m *matrix, id transitions.OrderID) {
			m.setMugs(0)
			m.place(id)
			m.moveFrom(id, workflow.Pending, workflow.Pay)
		},
		during: func(m *matrix, _ transitions.OrderID) {
			time.Sleep(time.Second)
			m.setMugs(1_000_000)
		},
	},
	{
		name: "payment declined", state: workflow.PaymentFailed, payment: "FAILED",
		edit: func(c *server.Config) { c.DeclinePercent = 100 },
	},
	{name: "out of stock", state: workflow.Cancelled, payment: "VOIDED", stock: -1},
}

// matrix runs one story after the other on one engine, each with an order of its own.
type matrix struct {
	*server.Backend

	t     *testing.T
	story story
	runs  int
}

func (m *matrix) place(id transitions.OrderID) {
	order := mug
	order.ID = id

	if _, err := m.Orders.Create(m.t.Context(), order); err != nil {
		m.t.Error(err)
	}
}

func (m *matrix) setMugs(available int64) {
	if err := m.Stock.Set(m.t.Context(), "mug", available); err != nil {
		m.t.Fatal(err)
	}
}

// moveFrom applies an event as soon as the order is in the state, "" for any. An empty event
// only waits.
func (m *matrix) moveFrom(id transitions.OrderID, from workflow.State, event workflow.Event) {
	for range 24 * 3600 {
		order, found, err := m.Orders.Get(m.t.Context(), id)
		if err == nil && found && (order.State == from || from == "") {
			if event == "" {
				return
			}

			r, err := m.Orders.Apply(m.t.Context(), transitions.Request{OrderID: id, Event: event, RequestID: transitions.RequestID(event)})
			if err != nil || !r.Verdict.Done() {
				m.t.Errorf("%s: %s, %v", event, r.Verdict, err)
			}

			return
		}

		time.Sleep(time.Second)
	}

	m.t.Errorf("order %s never came to %s", id, from)
}

// TestACrashAtAnyCallLosesNothing tells each story once without a fault and lists the calls
// that the worker makes. Then it tells it again and again, and each time strikes the worker
// at another call. In the end money, stock and parcels add up as the story says. The time
// is virtual, of a synctest bubble.
func TestACrashAtAnyCallLosesNothing(t *testing.T) {
	t.Parallel()

	for i, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel() // each has an engine and a clock of its own

			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { tell(t, dir, i, s) })
		})
	}
}

func tell(t *testing.T, dir string, number int, s story) {
	cfg := server.Config{
		Data:         filepath.Join(dir, "data"),
		Notify:       "dir:" + filepath.Join(dir, "notices"),
		CarrierDelay: 2 * time.Second,
		Slots:        4,
	}
	if s.edit != nil {
		s.edit(&cfg)
	}

	b, err := server.Embed(cfg, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()

	if err := b.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	m := &matrix{Backend: b, t: t, story: s}
	if s.stock >= 0 {
		m.setMugs(1_000_000)
	}

	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = b.Engine.Run(ctx) })
	group.Go(func() { _ = b.Carrier.Run(ctx) })

	defer group.Wait()
	defer stop()

	points := m.run(nil, "")
	t.Logf("%d calls", len(points))

	if len(points) < 15 {
		t.Fatalf("only %d calls were seen: %v", len(points), points)
	}

	// The usual run takes one call and one blow of many; the stories take others.
	every := 61
	if testing.Short() {
		every = 91
	}

	struck := 0
	for i, p := range points {
		for j, how := range blows {
			if !*allPoints && (i*len(blows)+j+number)%every != 0 {
				continue
			}

			struck++
			m.run(&points[i], how)

			if t.Failed() {
				t.Fatalf("at call %d, %s #%d: %s", i, p.call, p.n, how)
			}
		}
	}
	t.Logf("%d blows", struck)
}

// run tells the story of one order, with a process that is struck at a point, and a second
// process once that has ended. It returns the calls of the first one.
func (m *matrix) run(at *point, how blow) []point {
	m.runs++
	order := mug
	order.ID = transitions.OrderID(fmt.Sprintf("o-%04d", m.runs))

	if m.story.before != nil {
		m.story.before(m, order.ID)
	}

	ctx, stop := context.WithCancel(m.t.Context())
	first := &process{at: at, how: how}
	ended := m.start(ctx, fmt.Sprintf("first-%d", m.runs), first)

	var group sync.WaitGroup
	group.Go(func() {
		<-ended

		// The stream's lease of a process that died ends after its time.
		if ctx.Err() == nil {
			time.Sleep(3 * time.Second)
			<-m.start(ctx, fmt.Sprintf("second-%d", m.runs), &process{})
		}
	})

	m.begin(order)

	if m.story.during != nil {
		m.story.during(m, order.ID)
	}

	m.wait(order.ID)
	stop()
	group.Wait()

	first.mu.Lock()
	defer first.mu.Unlock()

	return first.points
}

// begin starts the execution of an order.
func (m *matrix) begin(order transitions.NewOrder) {
	machine, err := m.StateMachineARN(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}

	if _, err := m.Executions.Start(m.t.Context(), machine, order); err != nil {
		m.t.Fatal(err)
	}
}

// wait waits until the order's execution has ended and everything adds up.
func (m *matrix) wait(id transitions.OrderID) {
	arn, err := m.Executions.ARN(m.t.Context(), id)
	if err != nil {
		m.t.Fatal(err)
	}

	status, faults := sfntypes.ExecutionStatusRunning, []string(nil)
	for began := time.Now(); time.Since(began) < 2*time.Hour; time.Sleep(time.Second) {
		out, err := m.SFN.DescribeExecution(m.t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
		if err != nil {
			m.t.Fatal(err)
		}

		if status = out.Status; status == sfntypes.ExecutionStatusRunning {
			continue
		}

		if status != sfntypes.ExecutionStatusSucceeded {
			m.t.Errorf("the execution is %s: %s %s", status, aws.ToString(out.Error), aws.ToString(out.Cause))
			return
		}

		if faults = m.faults(id); len(faults) == 0 {
			return
		}
	}

	order, _, _ := m.Orders.Get(m.t.Context(), id)
	m.t.Errorf("order %s is %s, its execution %s: %q", id, order.State, status, faults)
}

// faults compares the order's data in the tables and on the far sides with the story.
func (m *matrix) faults(id transitions.OrderID) (faults []string) {
	check := func(what string, got, want any) {
		if got != want {
			faults = append(faults, fmt.Sprintf("%s: %v instead of %v", what, got, want))
		}
	}
	must := func(err error) {
		if err != nil {
			m.t.Fatal(err)
		}
	}
	ctx := m.t.Context()

	order, _, err := m.Orders.Get(ctx, id)
	must(err)
	check("state", order.State, m.story.state)

	rows, err := m.Orders.History(ctx, id, 0, 0)
	must(err)
	check("rows of the journal", len(rows), int(order.TransitionID))

	p, err := m.Payments.Get(ctx, payments.IDForOrder(order.LifeID()))
	must(err)

	if m.story.payment != "" {
		check("payment", p.State, m.story.payment)
	}
	check("kept", p.Captured-p.Refunded, m.story.kept)
	check("kept by the bank", m.atTheBank(p.ID), m.story.kept)

	booked := 0
	scan(m.t, m.DynamoDB, m.Tables.SandboxShipments, func(item map[string]types.AttributeValue) {
		shipment := strings.HasPrefix(dynamo.Text(item, "pk"), "shipment#")
		if shipment && dynamo.Text(item, "orderId") == string(id) && dynamo.Text(item, "status") != "CANCELED" {
			booked++
		}
	})
	check("booked", booked, map[bool]int{true: 1}[m.story.booked])

	r, found, err := m.Stock.Reservation(ctx, order.LifeID())
	must(err)

	want := "RELEASED"
	if m.story.sold > 0 {
		want = "COMMITTED"
	}
	check("reservation", found && string(r.Status) == want, true)

	return faults
}

// atTheBank returns the sum that the bank has taken under the keys of a payment.
func (m *matrix) atTheBank(id string) (sum int64) {
	err := m.Bank.Report(m.t.Context(), func(key, kind string, amount int64, _ string) error {
		switch owner, _, _ := strings.Cut(key, "/"); {
		case owner != id:
		case kind == string(payments.Refunding):
			sum -= amount
		default:
			sum += amount
		}

		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}

	return sum
}

func scan(t *testing.T, db *dynamodb.Client, table string, fn func(map[string]types.AttributeValue)) {
	t.Helper()

	pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		for _, item := range page.Items {
			fn(item)
		}
	}
}
