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

// deliveryHarness is an engine with the tables of notifications, their endpoints, and far sides that keep a ledger.
type deliveryHarness struct {
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

func newDeliveryHarness(t *testing.T, configured ...notify.Endpoint) *deliveryHarness {
	t.Helper()

	cfg := embeddedtest.Open(t).AWSConfig()
	cfg.Retryer = embeddedtest.NoRetries
	h := &deliveryHarness{t: t, transport: embeddedtest.Intercept(&cfg), far: map[string]*farSide{}}
	h.db = dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, h.db, notify.DeliveryTableInput("deliveries"), notify.EndpointTableInput("endpoints"))
	h.endpoints = h.newEndpoints(configured...)
	h.config = notify.Config{
		DynamoDB:  h.db,
		Table:     "deliveries",
		Endpoints: h.endpoints,
		Open:      func(e notify.Endpoint) (notify.Destination, error) { return h.at(e.Destination), nil },
		Log:       embeddedtest.Quiet(),
	}

	return h
}

func (h *deliveryHarness) newEndpoints(configured ...notify.Endpoint) *notify.Endpoints {
	h.t.Helper()

	endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: h.db, Table: "endpoints", Configured: configured})
	if err != nil {
		h.t.Fatal(err)
	}

	return endpoints
}

// at returns the far side of a destination.
func (h *deliveryHarness) at(destination string) *farSide {
	if h.far[destination] == nil {
		h.far[destination] = &farSide{}
	}

	return h.far[destination]
}

// endpoint creates an endpoint whose far side has the same name, and returns that.
func (h *deliveryHarness) endpoint(id string, edit ...func(*notify.Settings)) *farSide {
	h.t.Helper()

	s := notify.Settings{Destination: id}
	for _, e := range edit {
		e(&s)
	}
	far := h.at(s.Destination)

	if _, err := h.endpoints.Create(h.t.Context(), id, s, nil); err != nil {
		h.t.Fatal(err)
	}

	return far
}

// worker returns Deliveries that do not run.
func (h *deliveryHarness) worker(edit ...func(*notify.Config)) *notify.Deliveries {
	h.t.Helper()

	cfg := h.config
	for _, e := range edit {
		e(&cfg)
	}

	d, err := notify.New(cfg)
	if err != nil {
		h.t.Fatal(err)
	}

	return d
}

// separate returns a worker that shares nothing with others but the tables, and its transport.
func (h *deliveryHarness) separate() (*notify.Deliveries, *embeddedtest.Transport) {
	h.t.Helper()

	transport := embeddedtest.NewTransport(h.transport)
	db := dynamodb.New(h.db.Options(), func(o *dynamodb.Options) { o.HTTPClient = transport })

	endpoints, err := notify.NewEndpoints(notify.EndpointsConfig{DynamoDB: db, Table: "endpoints"})
	if err != nil {
		h.t.Fatal(err)
	}

	return h.worker(func(c *notify.Config) { c.DynamoDB, c.Endpoints = db, endpoints }), transport
}

// workerItems counts the items of workers in the table of endpoints.
func (h *deliveryHarness) workerItems() int {
	h.t.Helper()

	return len(h.scanWorkers())
}

// scanWorkers returns the items of workers in the table of endpoints.
func (h *deliveryHarness) scanWorkers() (found []map[string]types.AttributeValue) {
	h.t.Helper()

	out, err := h.db.Scan(h.t.Context(), &dynamodb.ScanInput{TableName: aws.String("endpoints")})
	if err != nil {
		h.t.Fatal(err)
	}

	for _, item := range out.Items {
		if strings.HasPrefix(item["endpointId"].(*types.AttributeValueMemberS).Value, "worker#") {
			found = append(found, item)
		}
	}

	return found
}

// run runs a worker. The returned function stops it.
func (h *deliveryHarness) run(d *notify.Deliveries) (stop func()) {
	h.t.Helper()

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()

	synctest.Wait() // Run is ready

	return sync.OnceFunc(func() {
		cancel()

		if err := <-ended; err != nil {
			h.t.Error(err)
		}
	})
}

func notice(order string, id int64, state workflow.State) notify.Notification {
	return notify.Notification{
		Key:          fmt.Sprintf("%s/0/%d/notify", order, id),
		OrderID:      transitions.OrderID(order),
		Incarnation:  "0",
		TransitionID: transitions.TransitionID(id),
		State:        state,
		At:           time.Now().UTC(),
		Event:        "pay",
		From:         "PENDING",
		Attributes:   map[string]string{"currency": "EUR"},
	}
}

func (h *deliveryHarness) accept(d *notify.Deliveries, notices ...notify.Notification) {
	h.t.Helper()

	for _, n := range notices {
		if err := d.Accept(h.t.Context(), n); err != nil {
			h.t.Fatal(err)
		}
	}
}

// statuses counts the deliveries by endpoint and status.
func (h *deliveryHarness) statuses(d *notify.Deliveries) map[string]int {
	h.t.Helper()

	count := map[string]int{}

	err := d.Scan(h.t.Context(), func(d notify.Delivery) bool {
		count[d.Endpoint+" "+string(d.Status)]++
		return true
	})
	if err != nil {
		h.t.Fatal(err)
	}

	return count
}

func (h *deliveryHarness) get(d *notify.Deliveries, id string) notify.Delivery {
	h.t.Helper()

	found, err := d.Get(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}

	return found
}
