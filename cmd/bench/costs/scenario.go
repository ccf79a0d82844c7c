package costs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"golang.org/x/sync/errgroup"

	"ratchet/server"
	"ratchet/server/scenario"
)

// scenarioOrders is the number of orders whose average PerOrderOfScenario returns.
const scenarioOrders = 200

// ScenarioUse is the consumption of an order of the demo's scenario.
type ScenarioUse struct {
	Units
	// Calls are all calls but the set-up, the polls of activities that bring no task, and the reads of
	// orders that do not exist yet: with these, the scenario waits until it can cancel an order. ByMinute
	// are those of them that depend on the time and not on the orders: leases, sweeps and heartbeats.
	Calls, ByMinute float64
	// ByCall has the same calls by operation and table.
	ByCall map[string]float64
}

// String returns the calls, the most frequent first.
func (u ScenarioUse) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.1f calls, %.1f of them by the minute; %.1f write units, %.1f read units", u.Calls, u.ByMinute, u.Write, u.Read)

	names := slices.SortedFunc(maps.Keys(u.ByCall), func(a, b string) int {
		if u.ByCall[a] != u.ByCall[b] {
			return int(1000 * (u.ByCall[b] - u.ByCall[a]))
		}

		return strings.Compare(a, b)
	})
	for _, name := range names {
		fmt.Fprintf(&b, "\n%6.2f %s", u.ByCall[name], name)
	}

	return b.String()
}

// PerOrderOfScenario measures orders of the demo's scenario with nothing to pay: with duplicates,
// cancellations, scarce items, and the sandbox carrier with its tables. Consumption by the minute counts,
// too: polls of the stream, leases, sweeps and heartbeats.
func PerOrderOfScenario(ctx context.Context) (use ScenarioUse, err error) {
	s := &scenario.Session{Plan: scenario.Default(scenarioOrders)}
	s.Plan.Free = true
	b := &bill{tables: map[string]Units{}}

	backend, stop, err := openBackend(b, s.Meter.Events())
	if err != nil {
		return use, err
	}
	defer stop()

	// The recount has clients of its own, whose calls are not counted.
	socket := httptest.NewServer(backend.Engine.Handler())
	defer socket.Close()

	cfg := backend.Config
	cfg.EndpointURL = socket.URL

	judge, err := server.Connect(ctx, cfg, quiet, server.Events{})
	if err != nil {
		return use, err
	}
	tally := countCalls(backend)

	if err := backend.Init(ctx); err != nil {
		return use, err
	}

	if err := s.Plan.Fill(ctx, backend); err != nil {
		return use, err
	}
	s.Plan.DisturbCarrier(backend, &s.Sent)
	// The tables and the stock are set up before the orders, and do not count.
	tally.take()
	b.take()

	var used map[string]Units
	if err := runScenario(ctx, s, backend, judge, func() { use.ByCall, used = tally.take(), b.take() }); err != nil {
		return use, err
	}

	for name, n := range use.ByCall {
		use.ByCall[name] = n / scenarioOrders
		use.Calls += n / scenarioOrders

		if isByMinute(name) {
			use.ByMinute += n / scenarioOrders
		}
	}
	use.Units = sum(used)
	use.Read, use.Write = use.Read/scenarioOrders, use.Write/scenarioOrders

	return use, nil
}

// isByMinute reports whether a call depends on the time and not on the orders.
func isByMinute(call string) bool {
	_, table, _ := strings.Cut(call, " ")
	of := strings.TrimPrefix(table, "ratchet-")

	return strings.HasSuffix(of, "-due") || slices.Contains([]string{"leases", "processes", "holds", "endpoints"}, of)
}

// runScenario runs the session with two workers. It calls ended when every execution has ended, and then
// lets the judge recount.
func runScenario(ctx context.Context, s *scenario.Session, backend, judge *server.Backend, ended func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return backend.Engine.Run(ctx) })
	group.Go(func() error { return backend.RunCarrier(ctx) })

	for _, name := range []string{"worker-1", "worker-2"} {
		group.Go(func() error { return backend.Run(ctx, name) })
	}
	group.Go(func() error {
		defer cancel()

		if err := s.Plan.Drive(ctx, backend, &s.Sent, nil); err != nil {
			return err
		}

		if err := scenario.Wait(ctx, judge); err != nil {
			return err
		}
		// Before the recount, whose reads cost units.
		ended()

		count, err := s.Plan.RecountUntilConsistent(ctx, judge)
		if err == nil && len(count.Discrepancies) > 0 {
			err = fmt.Errorf("%d discrepancies, the first: %+v", len(count.Discrepancies), count.Discrepancies[0])
		}

		return err
	})

	return group.Wait()
}

// callTally counts the calls that pass it, by operation and table.
type callTally struct {
	next aws.HTTPClient

	mu    *sync.Mutex
	calls map[string]float64
}

// countCalls makes the clients of the backend count their calls.
func countCalls(b *server.Backend) *callTally {
	t := &callTally{next: b.DynamoDB.Options().HTTPClient, mu: &sync.Mutex{}, calls: map[string]float64{}}

	// The parts of the backend have these clients already, so the clients are replaced in their place.
	*b.DynamoDB = *dynamodb.New(b.DynamoDB.Options(), func(o *dynamodb.Options) { o.HTTPClient = t })
	*b.Streams = *dynamodbstreams.New(b.Streams.Options(), func(o *dynamodbstreams.Options) { o.HTTPClient = t })
	*b.SFN = *sfn.New(b.SFN.Options(), func(o *sfn.Options) { o.HTTPClient = t })

	return t
}

// take returns the calls so far, and begins again.
func (t *callTally) take() map[string]float64 {
	t.mu.Lock()
	defer t.mu.Unlock()

	calls := t.calls
	t.calls = map[string]float64{}

	return calls
}

// answerOf has the field of an answer without which the call does not count.
var answerOf = map[string]string{
	"GetActivityTask ":       `"taskToken":"`,
	"GetItem ratchet-orders": `"Item":`,
}

func (t *callTally) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	// The body was read, so the engine gets a copy.
	r.Body = io.NopCloser(bytes.NewReader(body))

	answer, err := t.next.Do(r)
	if err != nil {
		return nil, err //nolint:wrapcheck // the client gets the answer as it is
	}

	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	call := operation + " " + strings.Join(tablesIn(body), " ")

	if field := answerOf[call]; field != "" {
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return nil, fmt.Errorf("read the answer: %w", err)
		}
		answer.Body = io.NopCloser(bytes.NewReader(text))

		if !bytes.Contains(text, []byte(field)) {
			return answer, nil
		}
	}

	t.mu.Lock()
	defer t.mu.Unlock()

	t.calls[call]++

	return answer, nil
}
