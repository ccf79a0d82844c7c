package notify_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/transitions"
	"ratchet/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an engine with the two tables, and far sides that keep a ledger.
type world struct {
	t         *testing.T
	db        *dynamodb.Client // through the transport
	transport *embeddedtest.Transport
	endpoints *notify.Endpoints
	far       map[string]*farSide // by destination
	config    notify.Config       // of the workers
}

// farSide is the system behind an endpoint.
type farSide struct {
	mu       sync.Mutex
	arrived  []string      // keys, in the order of arrival
	times    []time.Time   // when they arrived
	took     time.Duration // how long an answer takes
	answer   func(m notify.Message) (notify.Answer, error)
	running  int
	most     int // how many ran at once
	messages []notify.Message
}

func (f *farSide) Send(ctx context.Context, m notify.Message) (notify.Answer, error) {
	f.mu.Lock()
	f.arrived, f.times, f.messages = append(f.arrived, m.Key), append(f.times, time.Now()), append(f.messages, m)
	took, answer := f.took, f.answer
	f.running++
	f.most = max(f.most, f.running)
	f.mu.Unlock()

	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.running--
	}()

	if took > 0 {
		select {
		case <-time.After(took):
		case <-ctx.Done():
			return notify.Answer{}, ctx.Err()
		}
	}

	if answer != nil {
		return answer(m)
	}

	return notify.Answer{Status: 204}, nil
}

// set changes how the far side behaves.
func (f *farSide) set(took time.Duration, answer func(notify.Message) (notify.Answer, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.took, f.answer = took, answer
}

func (f *farSide) keys() []string {
	f.mu.Lock()
	defer f.mu.Unlock()

	return slices.Clone(f.arrived)
}

// effects returns how many different keys arrived.
func (f *farSide) effects() int {
	seen := map[string]bool{}
	for _, key := range f.keys() {
		seen[key] = true
	}

	return len(seen)
}

var errDown = errors.New("the far side is down")

func down(notify.Message) (notify.Answer, error) {
	return notify.Answer{Status: 503, Text: "try later"}, errDown
}

func newWorld(t *testing.T, configured ...notify.Endpoint) *world {
	t.Helper()

	cfg := embeddedtest.Open(t).AWSConfig()
	cfg.Retryer = embeddedtest.NoRetries
	w := &world{t: t, transport: embeddedtest.Intercept(&cfg), far: map[string]*farSide{}}
	w.db = dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, w.db, notify.DeliveryTableInput("deliveries"), notify.EndpointTableInput("endpoints"))
	w.endpoints = w.newEndpoints(configured...)
	w.config = notify.Config{
		DynamoDB:  w.db,
		Table:     "deliveries",
		Endpoints: w.endpoints,
		Open:      func(e notify.Endpoint) (notify.Destination, error) { return w.at(e.Destination), nil },
		Log:       embeddedtest.Quiet(),
	}

	return w
}

func (w *world) newEndpoints(configured ...notify.Endpoint) *notify.Endpoints {
	w.t.Helper()

	endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: w.db, Table: "endpoints", Configured: configured})
	if err != nil {
		w.t.Fatal(err)
	}

	return endpoints
}

// at returns the far side of a destination.
func (w *world) at(destination string) *farSide {
	if w.far[destination] == nil {
		w.far[destination] = &farSide{}
	}

	return w.far[destination]
}

// endpoint creates an endpoint whose far side has the same name, and returns that.
func (w *world) endpoint(id string, edit ...func(*notify.Settings)) *farSide {
	w.t.Helper()

	s := notify.Settings{Destination: id}
	for _, e := range edit {
		e(&s)
	}
	far := w.at(s.Destination)

	if _, err := w.endpoints.Create(w.t.Context(), id, s, nil); err != nil {
		w.t.Fatal(err)
	}

	return far
}

// worker returns Deliveries that do not run.
func (w *world) worker(edit ...func(*notify.Config)) *notify.Deliveries {
	w.t.Helper()

	cfg := w.config
	for _, e := range edit {
		e(&cfg)
	}

	d, err := notify.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}

	return d
}

// separate returns a worker that shares nothing with others but the tables, and its transport.
func (w *world) separate() (*notify.Deliveries, *embeddedtest.Transport) {
	w.t.Helper()

	transport := embeddedtest.NewTransport(w.transport)
	db := dynamodb.New(w.db.Options(), func(o *dynamodb.Options) { o.HTTPClient = transport })

	endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: db, Table: "endpoints"})
	if err != nil {
		w.t.Fatal(err)
	}

	return w.worker(func(c *notify.Config) { c.DynamoDB, c.Endpoints = db, endpoints }), transport
}

// workerItems counts the items of workers in the table of endpoints.
func (w *world) workerItems() (count int) {
	w.t.Helper()

	out, err := w.db.Scan(w.t.Context(), &dynamodb.ScanInput{TableName: aws.String("endpoints")})
	if err != nil {
		w.t.Fatal(err)
	}

	for _, item := range out.Items {
		if strings.HasPrefix(item["endpointId"].(*types.AttributeValueMemberS).Value, "worker#") {
			count++
		}
	}

	return count
}

// run runs a worker. The returned function stops it.
func (w *world) run(d *notify.Deliveries) (stop func()) {
	w.t.Helper()

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()

	synctest.Wait() // Run is ready

	return sync.OnceFunc(func() {
		cancel()

		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
}

func notice(order string, id int64, state workflow.State) notify.Notification {
	return notify.Notification{
		Key:          fmt.Sprintf("%s/%d/notify", order, id),
		OrderID:      transitions.OrderID(order),
		TransitionID: transitions.TransitionID(id),
		State:        state,
		At:           time.Now().UTC(),
		Event:        "pay",
		From:         "PENDING",
		Attributes:   map[string]string{"currency": "EUR"},
	}
}

func (w *world) accept(d *notify.Deliveries, notices ...notify.Notification) {
	w.t.Helper()

	for _, n := range notices {
		if err := d.Accept(w.t.Context(), n); err != nil {
			w.t.Fatal(err)
		}
	}
}

// statuses counts the deliveries by endpoint and status.
func (w *world) statuses(d *notify.Deliveries) map[string]int {
	w.t.Helper()

	count := map[string]int{}

	err := d.Scan(w.t.Context(), func(d notify.Delivery) bool {
		count[d.Endpoint+" "+string(d.Status)]++
		return true
	})
	if err != nil {
		w.t.Fatal(err)
	}

	return count
}

func (w *world) get(d *notify.Deliveries, id string) notify.Delivery {
	w.t.Helper()

	found, err := d.Get(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}

	return found
}
