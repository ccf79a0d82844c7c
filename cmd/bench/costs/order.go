package costs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"golang.org/x/sync/errgroup"

	"ratchet"
	"ratchet/server"
	"ratchet/server/scenario"
	"ratchet/workflow/plan"
)

// OrderUse is the consumption of an order from the start of its execution to its delivery.
type OrderUse struct {
	Units
	// Calls are the calls of AWS that the programs make: a task or an answer, calls of the order's
	// tables, and the start of the execution. Step Functions' own call for a wait costs units and
	// is not one of these.
	Calls float64
	// Transitions are the state transitions of the execution when the carrier takes
	// seconds, LongTransitions when it ships after two days and delivers three days later.
	Transitions, LongTransitions float64
}

// ordersMeasured is the number of orders whose average PerOrder returns.
const ordersMeasured = 50

// PerOrder measures orders of one SKU that cost nothing, when nothing fails: a payment is measured
// apart, see [PerPayment]. It leaves out all consumption by the minute (polls without a task, polls
// of the stream, leases, sweeps, heartbeats), and the tables of the sandbox carrier.
func PerOrder(ctx context.Context) (use OrderUse, err error) {
	s := &scenario.Session{Plan: scenario.Plan{Orders: ordersMeasured, Prefix: "o-", Free: true}}
	b := &bill{tables: map[string]Units{}}

	backend, stop, err := openBackend(b, server.Events{})
	if err != nil {
		return use, err
	}
	defer stop()

	counter := &callCounter{next: backend.Engine.Handler()}
	// Over a socket, because the calls are counted as HTTP requests.
	socket := httptest.NewServer(counter)
	defer socket.Close()

	cfg := backend.Config
	cfg.EndpointURL = socket.URL

	remote, err := server.Connect(ctx, cfg, quiet, server.Events{})
	if err != nil {
		return use, err
	}

	if err := errors.Join(backend.Init(ctx), s.Plan.Fill(ctx, backend)); err != nil {
		return use, err
	}
	// The tables and the stock are set up before the orders, and do not count.
	b.take()

	if err := runOrders(ctx, s.Plan, backend, remote, socket.CloseClientConnections); err != nil {
		return use, err
	}

	for table, u := range b.take() {
		if counter.isOfOrders(table) {
			use.Units = use.plus(u)
		}
	}
	use.Read, use.Write = use.Read/ordersMeasured, use.Write/ordersMeasured
	use.Calls = float64(counter.calls()) / ordersMeasured

	if use.Transitions, err = statesEntered(ctx, backend); err != nil {
		return use, err
	}
	// Computed, because the measured carrier takes seconds and no days.
	use.LongTransitions, err = longTransitions()

	return use, err
}

// measureOrder returns the table of an order's consumption.
func measureOrder(ctx context.Context) (t Table, err error) {
	t.Head = []string{"one order of one SKU, nothing to pay", "uses"}

	use, err := PerOrder(ctx)
	t.Rows = [][]string{
		{"calls of AWS", number(use.Calls)},
		{"write units", number(use.Write)},
		{"read units", number(use.Read)},
		{"state transitions", number(use.Transitions)},
		{"state transitions, shipped after 2 days and delivered 3 days later", number(use.LongTransitions)},
	}

	return t, err
}

// runOrders takes the plan's orders from their start to their delivery with a worker that reaches
// the engine over a socket. At the end it closes the connections, because a worker waits for its
// open polls.
func runOrders(ctx context.Context, p scenario.Plan, backend, remote *server.Backend, hangUp func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return backend.Engine.Run(ctx) })
	group.Go(func() error { return backend.RunCarrier(ctx) })
	group.Go(func() error { return remote.Run(ctx, "worker") })
	group.Go(func() error {
		defer hangUp()
		defer cancel()

		sent := &scenario.Sent{}
		if err := p.Drive(ctx, remote, sent, nil); err != nil {
			return err
		}

		if err := scenario.Wait(ctx, backend); err != nil {
			return err
		}

		count, err := p.RecountUntilConsistent(ctx, backend)
		if err == nil && len(count.Discrepancies) > 0 {
			err = fmt.Errorf("%d discrepancies, the first: %+v", len(count.Discrepancies), count.Discrepancies[0])
		}

		return err
	})

	return group.Wait()
}

// statesEntered returns the state transitions of an execution, on average.
func statesEntered(ctx context.Context, b *server.Backend) (float64, error) {
	arn, err := b.StateMachineARN(ctx)
	if err != nil {
		return 0, err
	}

	list, err := b.SFN.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &arn, MaxResults: 1000})
	if err != nil {
		return 0, err
	}

	entered := 0
	for _, e := range list.Executions {
		history, err := b.SFN.GetExecutionHistory(ctx, &sfn.GetExecutionHistoryInput{ExecutionArn: e.ExecutionArn, MaxResults: 1000})
		if err != nil {
			return 0, err
		}

		// A transition of a state machine is a state that was entered.
		entered += len(slices.DeleteFunc(history.Events, func(e sfntypes.HistoryEvent) bool { return e.StateEnteredEventDetails == nil }))
	}

	return float64(entered) / float64(len(list.Executions)), nil
}

// longTransitions computes the state transitions of an order that ships after two days and is
// delivered three days later, from the time-outs of its waits.
func longTransitions() (float64, error) {
	m, err := plan.Parse("statemachine.asl.json", []byte(ratchet.StateMachine))
	if err != nil {
		return 0, err
	}

	report, err := plan.New(m, plan.Load{
		Quotas: plan.USEast1(),
		Waits:  map[string]time.Duration{"AwaitShipped": 2 * 24 * time.Hour, "AwaitDelivered": 3 * 24 * time.Hour},
	})
	if err != nil {
		return 0, err
	}

	return float64(report.Transitions), nil
}

// callCounter counts the calls that belong to orders, and passes all of them on.
type callCounter struct {
	next http.Handler

	mu sync.Mutex
	n  int
}

func (c *callCounter) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.n
}

func (c *callCounter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// The body was read, so the engine gets a copy.
	r.Body = io.NopCloser(bytes.NewReader(body))

	answer := &watchedAnswer{ResponseWriter: w}
	c.next.ServeHTTP(answer, r)

	// The call is counted after the answer, which shows whether a poll brought a task.
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if c.counts(operation, body, answer.hasToken) {
		c.mu.Lock()
		defer c.mu.Unlock()

		c.n++
	}
}

// counts reports whether a call belongs to an order.
func (c *callCounter) counts(operation string, body []byte, hasToken bool) bool {
	switch operation {
	case "StartExecution", "SendTaskSuccess", "SendTaskFailure":
		return true
	case "GetActivityTask":
		return hasToken // an empty poll belongs to the minute
	case "GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "TransactWriteItems", "TransactGetItems", "BatchGetItem", "BatchWriteItem", "BatchExecuteStatement":
	default:
		return false
	}

	// A Query of an index looks into a queue of deliveries, which belongs to the minute.
	if bytes.Contains(body, []byte(`"IndexName"`)) {
		return false
	}

	// A call that names several tables counts once; a sweep of a due table does not count.
	return slices.ContainsFunc(tablesIn(body), func(table string) bool {
		return c.isOfOrders(table) && !strings.HasSuffix(table, "-due")
	})
}

// tableInBody finds a table in the fields of a request, and in the text of a statement.
var tableInBody = regexp.MustCompile(`"TableName":"([^"]+)"|INTO \\"([^"\\]+)\\"`)

// tablesIn returns the tables that a request names, each once, sorted.
func tablesIn(body []byte) (tables []string) {
	for _, match := range tableInBody.FindAllSubmatch(body, -1) {
		tables = append(tables, string(match[1])+string(match[2]))
	}
	slices.Sort(tables)

	return slices.Compact(tables)
}

// isOfOrders reports whether the table is one in which an order consumes something.
func (c *callCounter) isOfOrders(table string) bool {
	return !strings.Contains(table, "sandbox-") && !strings.HasSuffix(table, "-leases") && !strings.HasSuffix(table, "-holds") && !strings.HasSuffix(table, "-endpoints") &&
		!strings.HasSuffix(table, "-processes")
}

// watchedAnswer notices a task in the answer to a poll.
type watchedAnswer struct {
	http.ResponseWriter

	hasToken bool
}

func (w *watchedAnswer) Write(b []byte) (int, error) {
	w.hasToken = w.hasToken || bytes.Contains(b, []byte(`"taskToken":"`))
	return w.ResponseWriter.Write(b)
}
