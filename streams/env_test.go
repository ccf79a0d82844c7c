package streams

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ratchet/embedded"
	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
)

const (
	ordersTable = "orders"
	leasesTable = "leases"
	deadTable   = "dead-letters"
)

// testEnv is an embedded engine with the three tables.
type testEnv struct {
	testing.TB
	engine *embedded.Engine
	db     *dynamodb.Client
	arn    string
}

func newTestEnv(t testing.TB, shards int) *testEnv {
	t.Helper()

	engine, err := embedded.Open(embedded.Config{
		Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
		Streams: embedded.StreamsConfig{InitialShards: shards, RollEvery: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- engine.Run(ctx) }()
	t.Cleanup(func() {
		stop()

		if err := errors.Join(<-done, engine.Close()); err != nil {
			t.Error(err)
		}
	})

	w := &testEnv{TB: t, engine: engine, db: dynamodb.NewFromConfig(engine.AWSConfig())}
	orders := dynamo.Table(ordersTable, dynamo.TextKey("id"), dynamo.TextKey("part"))
	orders.StreamSpecification = images()
	for _, in := range []*dynamodb.CreateTableInput{orders, LeaseTableInput(leasesTable), DeadLetterTableInput(deadTable)} {
		if _, err := w.db.CreateTable(context.Background(), in); err != nil {
			t.Fatal(err)
		}
	}
	w.arn = w.latest()

	return w
}

func images() *ddbtypes.StreamSpecification {
	return &ddbtypes.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: ddbtypes.StreamViewTypeNewAndOldImages}
}

func (w *testEnv) latest() string {
	w.Helper()

	out, err := w.db.DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: aws.String(ordersTable)})
	if err != nil {
		w.Fatal(err)
	}

	return deref(out.Table.LatestStreamArn)
}

// write sets the item's version, which makes one record.
func (w *testEnv) write(id string, version int) {
	w.Helper()

	_, err := w.db.PutItem(context.Background(), &dynamodb.PutItemInput{
		TableName: aws.String(ordersTable),
		Item:      dynamo.Item{"id": dynamo.S(id), "part": dynamo.S("-"), "version": dynamo.N(int64(version))},
	})
	if err != nil {
		w.Error(err)
	}
}

func (w *testEnv) roll() {
	w.Helper()

	if err := w.engine.RollShards(context.Background(), w.arn); err != nil {
		w.Fatal(err)
	}
}

// leases reads the lease table.
func (w *testEnv) leases() []Lease {
	w.Helper()

	l, err := ReadLeases(context.Background(), w.db, leasesTable, w.arn)
	if err != nil {
		w.Fatal(err)
	}

	return l
}

// config is a poller's configuration with short times; handle is its only handler.
func (w *testEnv) config(handle HandlerFunc, edit ...func(*Config)) Config {
	cfg := Config{
		Streams: dynamodbstreams.NewFromConfig(w.engine.AWSConfig()), DynamoDB: w.db,
		TableName: ordersTable, LeaseTable: leasesTable, DeadLetterTable: deadTable,
		Handlers:   []Handler{{Name: "h", Handle: handle}},
		PollActive: 2 * time.Millisecond, PollIdle: 10 * time.Millisecond,
		LeaseDuration: time.Second, CheckpointEvery: 20 * time.Millisecond, DiscoverEvery: 200 * time.Millisecond,
		Retry: Retry{Attempts: 3, Base: time.Millisecond, Max: 5 * time.Millisecond}, DrainTimeout: 2 * time.Second,
		Log: slog.New(slog.DiscardHandler),
	}
	for _, e := range edit {
		e(&cfg)
	}

	return cfg
}

// running is a poller that runs.
type running struct {
	*Poller
	stop func() error // asks it to stop and waits; may be called twice
	done chan struct{}
}

func (w *testEnv) start(cfg Config) *running {
	w.Helper()

	p, err := New(cfg)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Poller: p, done: make(chan struct{})}
	var runErr error
	go func() { defer close(r.done); runErr = p.Run(ctx) }()
	r.stop = func() error { cancel(); <-r.done; return runErr }
	w.Cleanup(func() { _ = r.stop() })

	return r
}

// stopped ends a poller and wants no error.
func (w *testEnv) stopped(r *running) {
	w.Helper()

	if err := r.stop(); err != nil {
		w.Errorf("Run: %v", err)
	}
}

// until waits for a condition that background work brings about.
func (w *testEnv) until(what string, ok func() bool) {
	w.Helper()

	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			w.Fatalf("waited in vain until %s", what)
		}
		worker.Wait(w.Context(), time.Millisecond)
	}
}

// recorder notes what handlers got: per item, the versions in order of arrival.
type recorder struct {
	mu    sync.Mutex
	got   map[string][]int
	total int
}

func newRecorder() *recorder { return &recorder{got: map[string][]int{}} }

func (l *recorder) handle(_ context.Context, r Record) error {
	id, v := keyAndVersion(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got[id] = append(l.got[id], v)
	l.total++

	return nil
}

func keyAndVersion(r Record) (string, int) {
	return dynamo.Text(r.Keys, "id"), int(dynamo.Number(r.New, "version"))
}

func (l *recorder) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

func (l *recorder) of(id string) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]int(nil), l.got[id]...)
}

// distinct counts the records seen at least once.
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

// ordered checks each item: nothing missing, nothing out of order; a replay may
// step back, but never skip ahead of what came before.
func (l *recorder) ordered(t *testing.T, items, versions int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()

	for i := range items {
		high := 0
		got := l.got["o-"+strconv.Itoa(i)]
		for j, v := range got {
			if v > high+1 || (j > 0 && v > got[j-1]+1) {
				t.Fatalf("o-%d: %v: version %d came too early", i, got, v)
			}
			high = max(high, v)
		}

		if high != versions {
			t.Fatalf("o-%d: %v: want all up to %d", i, got, versions)
		}
	}
}

// faults is a transport in front of the engine's own that loses or refuses what
// a test asks for.
type faults struct {
	next http.RoundTripper
	mu   sync.Mutex
	rule func(op string, body []byte) error
	// calls counts what got through, by operation.
	calls map[string]int
}

// A refusal answers with an AWS error of that code.
type awsRefusal string

func (e awsRefusal) Error() string { return string(e) }

var errLostResponse = errors.New("response lost")

func (w *testEnv) faults() *faults {
	return &faults{next: w.engine.HTTPClient().Transport, calls: map[string]int{}}
}

func (f *faults) set(rule func(op string, body []byte) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rule = rule
}

func (f *faults) count(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

func (f *faults) clients(w *testEnv) func(*Config) {
	cfg := w.engine.AWSConfig()
	cfg.HTTPClient = &http.Client{Transport: f}

	return func(c *Config) {
		c.Streams, c.DynamoDB = dynamodbstreams.NewFromConfig(cfg), dynamodb.NewFromConfig(cfg)
	}
}

func (f *faults) RoundTrip(r *http.Request) (*http.Response, error) {
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")

	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.mu.Lock()
	rule := f.rule
	f.calls[op]++
	f.mu.Unlock()
	var refusal awsRefusal

	if rule != nil {
		err = rule(op, body)
	}

	switch {
	case errors.As(err, &refusal):
		text := fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"by the test"}`, string(refusal))
		return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
			Body: io.NopCloser(strings.NewReader(text)), Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
	case errors.Is(err, errLostResponse):
		if resp, rerr := f.next.RoundTrip(r); rerr == nil {
			_ = resp.Body.Close()
		}
		return nil, err
	case err != nil:
		return nil, err
	}

	return f.next.RoundTrip(r)
}

func contains(body []byte, s string) bool { return bytes.Contains(body, []byte(s)) }
