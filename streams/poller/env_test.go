package poller

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
	"ratchet/streams"
	"ratchet/streams/deadletters"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
	"ratchet/streams/store"
)

const (
	ordersTable = "orders"
	leasesTable = "leases"
	deadTable   = "dead-letters"
)

// testEnv is an embedded engine with a table that has a stream, a lease table and a
// dead-letter table.
type testEnv struct {
	testing.TB
	engine *embedded.Engine
	db     *dynamodb.Client
	arn    string // of the stream
}

func newTestEnv(t testing.TB, shards int, changes ...func(*embedded.Config)) *testEnv {
	t.Helper()

	engine := embeddedtest.Open(t, append([]func(*embedded.Config){func(c *embedded.Config) {
		c.Streams = embedded.StreamsConfig{InitialShards: shards, RollEvery: -1}
	}}, changes...)...)
	embeddedtest.Run(t, engine)

	env := &testEnv{TB: t, engine: engine, db: dynamodb.NewFromConfig(engine.AWSConfig())}
	orders := dynamo.Table(ordersTable, dynamo.TextKey("id"), dynamo.TextKey("part"))
	orders.StreamSpecification = bothImages()
	embeddedtest.Create(t, env.db, orders, leases.TableInput(leasesTable), deadletters.TableInput(deadTable))
	env.arn = env.latestStream()

	return env
}

// virtually runs a test in virtual time, beside other tests: its waits do not depend on how busy the
// machine is.
func virtually(t *testing.T, test func(*testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

func bothImages() *ddbtypes.StreamSpecification {
	return &ddbtypes.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: ddbtypes.StreamViewTypeNewAndOldImages}
}

func noStream() *ddbtypes.StreamSpecification {
	return &ddbtypes.StreamSpecification{StreamEnabled: aws.Bool(false)}
}

// latestStream returns the ARN of the table's latest stream.
func (w *testEnv) latestStream() string {
	w.Helper()

	out, err := w.db.DescribeTable(w.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(ordersTable)})
	if err != nil {
		w.Fatal(err)
	}

	return aws.ToString(out.Table.LatestStreamArn)
}

// setStream changes whether the table has a stream, and which images it has.
func (w *testEnv) setStream(s *ddbtypes.StreamSpecification) {
	w.Helper()

	_, err := w.db.UpdateTable(w.Context(), &dynamodb.UpdateTableInput{TableName: aws.String(ordersTable), StreamSpecification: s})
	if err != nil {
		w.Fatal(err)
	}
}

// write sets the item's version, which makes one record.
func (w *testEnv) write(id string, version int) {
	w.Helper()

	_, err := w.db.PutItem(w.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(ordersTable),
		Item:      dynamo.Item{"id": dynamo.S(id), "part": dynamo.S("-"), "version": dynamo.N(int64(version))},
	})
	if err != nil {
		w.Error(err)
	}
}

// writeVersions writes the versions from 1 of o-0 and so many items, version by version.
func (w *testEnv) writeVersions(items, versions int) {
	w.Helper()

	for v := 1; v <= versions; v++ {
		w.writeVersion(items, v)
	}
}

// writeVersion writes a version of o-0 and so many items.
func (w *testEnv) writeVersion(items, version int) {
	w.Helper()

	for i := range items {
		w.write("o-"+strconv.Itoa(i), version)
	}
}

// roll ends every open shard and continues it with a child.
func (w *testEnv) roll() {
	w.Helper()

	if err := w.engine.RollShards(w.Context(), w.arn); err != nil {
		w.Fatal(err)
	}
}

// leases reads the lease table.
func (w *testEnv) leases() []leases.Lease {
	w.Helper()

	leases, err := leases.Read(w.Context(), w.db, leasesTable, w.arn)
	if err != nil {
		w.Fatal(err)
	}

	return leases
}

// table returns the lease Table as a poller uses it.
func (w *testEnv) table() *leases.Table {
	return &leases.Table{API: w.db, Table: leasesTable, Stream: w.arn}
}

// deadLetters reads all dead letters of a handler.
func (w *testEnv) deadLetters(handler string) []deadletters.Letter {
	w.Helper()

	letters, _, err := deadletters.Letters{DynamoDB: w.db, Table: deadTable}.List(w.Context(), handler, "", 0)
	if err != nil {
		w.Fatal(err)
	}
	// The ids of different items are in no useful order.
	position := func(l deadletters.Letter) string { return l.ID[strings.LastIndex(l.ID, "/"):] }
	slices.SortFunc(letters, func(a, b deadletters.Letter) int { return strings.Compare(position(a), position(b)) })

	return letters
}

// scanDeadLetters returns the number of rows in the dead-letter table.
func (w *testEnv) scanDeadLetters() int {
	w.Helper()

	rows := 0
	for _, row := range w.deadRows() {
		// A queue keeps the row that says that it has further keys. A handled record whose write may still arrive keeps
		// one without what was in it.
		if dynamo.Text(row, store.ID) == retrySpreadID {
			continue
		}

		if !dynamo.Flag(row, "done") || row["record"] != nil || row[store.Keys] != nil {
			rows++
		}
	}

	return rows
}

// config returns a poller's configuration with short times; handle is its only
// handler.
func (w *testEnv) config(handle streams.HandlerFunc, edit ...func(*Config)) Config {
	return w.shortConfig(dynamodbstreams.NewFromConfig(w.engine.AWSConfig()), handle, edit...)
}

// shortConfig is config for another client of the streams.
func (w *testEnv) shortConfig(client *dynamodbstreams.Client, handle streams.HandlerFunc, edit ...func(*Config)) Config {
	cfg := Config{
		Streams:         client,
		DynamoDB:        w.db,
		TableName:       ordersTable,
		LeaseTable:      leasesTable,
		DeadLetterTable: deadTable,
		Handlers:        []streams.Handler{{Name: "h", Handle: handle}},
		PollActive:      2 * time.Millisecond,
		PollIdle:        10 * time.Millisecond,
		LeaseDuration:   time.Second,
		checkpointEvery: 20 * time.Millisecond,
		discoverEvery:   200 * time.Millisecond,
		Retry:           streams.Retry{Attempts: 3, Base: time.Millisecond, Max: 5 * time.Millisecond},
		DrainTimeout:    2 * time.Second,
		Log:             embeddedtest.Quiet(),
		calls:           &lanes.Gate{}, // a process of its own
	}
	for _, e := range edit {
		e(&cfg)
	}

	return cfg
}

// intercept returns a transport in front of the engine, and an edit of a Config that
// makes its poller use it.
func (w *testEnv) intercept() (*embeddedtest.Transport, func(*Config)) {
	cfg := w.engine.AWSConfig()
	cfg.Retryer = embeddedtest.RetryAtOnce
	cfg.APIOptions = append(cfg.APIOptions, awsmiddleware.AddRecordResponseTiming) // left out in process
	transport := embeddedtest.Intercept(&cfg)

	return transport, func(c *Config) {
		c.Streams, c.DynamoDB = dynamodbstreams.NewFromConfig(cfg), dynamodb.NewFromConfig(cfg)
	}
}

func awsError(code string) error { return &embeddedtest.Error{Code: code} }

func contains(c *embeddedtest.Call, s string) bool { return bytes.Contains(c.Body(), []byte(s)) }

// runningPoller is a poller that runs.
type runningPoller struct {
	*Poller
	stop func() error  // stops it and returns what Run returned; may be called twice
	done chan struct{} // closed when Run has returned
}

func (w *testEnv) start(cfg Config) *runningPoller {
	w.Helper()

	p, err := New(cfg)
	if err != nil {
		w.Fatal(err)
	}

	// Not w.Context(), which ends before the cleanups: a poller that a test does not
	// stop must stop before its engine does.
	ctx, cancel := context.WithCancel(context.Background())
	r := &runningPoller{Poller: p, done: make(chan struct{})}
	var runErr error
	go func() { defer close(r.done); runErr = p.Run(ctx) }()
	r.stop = func() error { cancel(); <-r.done; return runErr }
	w.Cleanup(func() { _ = r.stop() })

	return r
}

// stopped stops a poller, which must not return an error.
func (w *testEnv) stopped(r *runningPoller) {
	w.Helper()

	if err := r.stop(); err != nil {
		w.Errorf("Run: %v", err)
	}
}

// ended waits until Run has Ended by itself.
func (w *testEnv) ended(r *runningPoller) {
	w.Helper()

	w.until("Run has ended", func() bool {
		select {
		case <-r.done:
			return true
		default:
			return false
		}
	})
}

// until waits for a condition that background work brings about.
func (w *testEnv) until(what string, ok func() bool) {
	w.Helper()

	deadline := time.Now().Add(2 * time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			w.Fatalf("timed out waiting until %s", what)
		}
		worker.Wait(w.Context(), 5*time.Millisecond)
	}
}

// recorder is a handler that records its calls: for each item the versions in the
// order in which they arrived.
type recorder struct {
	mu    sync.Mutex
	got   map[string][]int
	total int
}

func newRecorder() *recorder { return &recorder{got: map[string][]int{}} }

func (l *recorder) handle(_ context.Context, r streams.Record) error {
	id, v := keyAndVersion(r)
	l.mu.Lock()
	defer l.mu.Unlock()

	l.got[id] = append(l.got[id], v)
	l.total++

	return nil
}

func keyAndVersion(r streams.Record) (string, int) {
	return dynamo.Text(r.Keys, "id"), int(dynamo.Number(r.New, "version"))
}

// count returns the number of calls.
func (l *recorder) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.total
}

// of returns the versions Of an item.
func (l *recorder) of(id string) []int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return append([]int(nil), l.got[id]...)
}

// distinct returns the number of records that came at least once.
func (l *recorder) distinct() int {
	l.mu.Lock()
	defer l.mu.Unlock()

	n := 0
	for _, versions := range l.got {
		seen := map[int]bool{}
		for _, v := range versions {
			seen[v] = true
		}
		n += len(seen)
	}

	return n
}

// ordered checks that no version of an item is missing or came out of order. A repeat
// may step back, but it must not skip a version that it had not repeated.
func (l *recorder) ordered(t *testing.T, items, versions int) {
	t.Helper()
	l.orderedBut(t, items, versions, func(string, int) bool { return false })
}

// orderedBut is ordered, but a lost version may be missing.
func (l *recorder) orderedBut(t *testing.T, items, versions int, lost func(id string, version int) bool) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()

	for i := range items {
		id := "o-" + strconv.Itoa(i)

		// next returns the version that must follow.
		next := func(v int) int {
			for v++; v <= versions && lost(id, v); v++ {
			}

			return v
		}

		got := l.got[id]
		high := 0
		for j, v := range got {
			if v > next(high) || (j > 0 && v > next(got[j-1])) {
				t.Fatalf("%s: %v: version %d came too early", id, got, v)
			}
			high = max(high, v)
		}

		if next(high) <= versions {
			t.Fatalf("%s: %v: want all up to %d", id, got, versions)
		}
	}
}

// lagOf returns the unfinished records of all shards that the poller holds, -1 if it holds
// none.
func (w *testEnv) lagOf(p *runningPoller) int {
	lags := p.Lags()
	if len(lags) == 0 {
		return -1
	}

	pending := 0
	for _, lag := range lags {
		pending += lag.Pending
	}

	return pending
}
