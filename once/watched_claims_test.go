package once_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" { // a worker that will be killed
		if err := child(context.Background(), url, os.Getenv(childDir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

type item = map[string]types.AttributeValue

// dated stands behind the transport and puts the service's clock into the Date of every
// answer. A nil clock leaves the Date alone.
type dated struct {
	embeddedtest.Doer
	clock *embeddedtest.Clock
}

func (d *dated) Do(r *http.Request) (*http.Response, error) {
	response, err := d.Doer.Do(r)
	if err == nil && d.clock != nil {
		response.Header.Set("Date", d.clock.Now().Format(http.TimeFormat))
	}

	return response, err
}

// errOutage is the error of a request that does not reach the service. The client does not
// retry it.
var errOutage = errors.New("no route to the service")

// meter adds up the write and read units of the requests. A refused write costs the units
// of the item that refused it.
type meter struct {
	*dynamodb.Client
	mu          sync.Mutex
	write, read float64
}

func (m *meter) add(units *float64, c *types.ConsumedCapacity) {
	m.mu.Lock()
	defer m.mu.Unlock()

	if c != nil {
		*units += *c.CapacityUnits
	}
}

func (m *meter) refused(err error) {
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		m.add(&m.write, &types.ConsumedCapacity{CapacityUnits: aws.Float64(max(1, math.Ceil(float64(sizeOf(failed.Item))/1024)))})
	}
}

func sizeOf(i item) (n int) {
	for name, v := range i {
		n += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			n += len(v.Value)
		case *types.AttributeValueMemberB:
			n += len(v.Value)
		case *types.AttributeValueMemberM:
			n += 3 + sizeOf(v.Value)
		default:
			n += 8
		}
	}

	return n
}

func (m *meter) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal

	out, err := m.Client.UpdateItem(ctx, in, o...)
	if err == nil {
		m.add(&m.write, out.ConsumedCapacity)
	}
	m.refused(err)

	return out, err
}

func (m *meter) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal

	out, err := m.Client.PutItem(ctx, in, o...)
	if err == nil {
		m.add(&m.write, out.ConsumedCapacity)
	}
	m.refused(err)

	return out, err
}

func (m *meter) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal

	out, err := m.Client.GetItem(ctx, in, o...)
	if err == nil {
		m.add(&m.read, out.ConsumedCapacity)
	}

	return out, err
}

func (m *meter) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal

	out, err := m.Client.TransactWriteItems(ctx, in, o...)
	if err == nil {
		for i := range out.ConsumedCapacity {
			m.add(&m.write, &out.ConsumedCapacity[i])
		}
	}

	return out, err
}

// spent returns the units since the last call.
func (m *meter) spent() (write, read float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	write, read = m.write, m.read
	m.write, m.read = 0, 0

	return write, read
}

// watchedClaims are claims on an engine of their own, whose calls and events are recorded, with a clock
// and a transport that the test controls.
type watchedClaims struct {
	*once.Claims
	clock     embeddedtest.Clock
	service   *dated
	transport *embeddedtest.Transport
	db        *meter
	// events are the observed events.
	mu     sync.Mutex
	events []once.Event
}

func (w *watchedClaims) config() once.Config {
	return once.Config{
		DynamoDB:  w.db,
		Table:     "once",
		Lease:     time.Minute,
		Retention: time.Hour,
		Margin:    time.Second,
		Now:       w.clock.Now,
		Events: once.Events{Observed: func(e once.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		}},
	}
}

// network returns a client that reaches the test's engine as over a network, because the
// SDK reads the service's time from HTTP answers only.
func network(t testing.TB) aws.Config {
	t.Helper()

	if os.Getenv(embeddedtest.LocalURL) != "" {
		return embeddedtest.Backend(t)
	}

	return aws.Config{
		Region:       "us-east-1",
		Credentials:  aws.AnonymousCredentials{},
		BaseEndpoint: aws.String("http://dynamodb.test"),
		HTTPClient:   embeddedtest.Open(t).HTTPClient(),
	}
}

// newWatchedClaims opens claims whose SDK retries a lost answer at once.
func newWatchedClaims(t testing.TB, change ...func(*once.Config)) *watchedClaims {
	t.Helper()
	cfg := network(t)
	w := &watchedClaims{}
	w.service = &dated{Doer: cfg.HTTPClient, clock: &w.clock}
	cfg.HTTPClient = w.service
	cfg.Retryer = func() aws.Retryer { return retrying{} }
	w.transport = embeddedtest.Intercept(&cfg)
	w.db = &meter{Client: dynamodb.NewFromConfig(cfg)}
	embeddedtest.Create(t, w.db.Client, once.TableInput("once"), once.TableInput("business"))
	w.Claims = w.with(t, change...)

	return w
}

// retrying retries a lost connection at once, and nothing else.
type retrying struct{ aws.NopRetryer }

func (retrying) IsErrorRetryable(err error) bool { return errors.Is(err, embeddedtest.ErrLost) }
func (retrying) MaxAttempts() int                { return 3 }
func (retrying) RetryDelay(int, error) (time.Duration, error) {
	return 0, nil
}

// calls returns the operations of the calls since the last time.
func (w *watchedClaims) calls() []string {
	calls := w.transport.Calls()
	w.transport.Reset()

	return calls
}

// loseAnswers ends all faults and then loses the answers to the next n writes, which are
// carried out.
func (w *watchedClaims) loseAnswers(n int) {
	w.transport.Clear()

	if n > 0 {
		w.transport.Inject(embeddedtest.LoseAnswer(embeddedtest.Writes()...).Next(n))
	}
}

// outage makes all calls of these operations fail.
func (w *watchedClaims) outage(operations ...string) *embeddedtest.Injection {
	w.transport.Clear()

	return w.transport.Inject(embeddedtest.LoseRequest(operations...).With(errOutage))
}

// cancelWithAnswer cancels the next call after it was carried out.
func (w *watchedClaims) cancelWithAnswer(cancel func()) {
	w.transport.After(func(*embeddedtest.Call) error {
		w.transport.Clear()
		cancel()

		return context.Canceled
	})
}

// locks returns once-locks in the table of the claims.
func (w *watchedClaims) locks(t testing.TB) *once.Locks {
	t.Helper()

	return newLocks(t, once.LocksConfig{DynamoDB: w.db, Table: "once", Now: w.clock.Now})
}

func newLocks(t testing.TB, cfg once.LocksConfig) *once.Locks {
	t.Helper()

	locks, err := once.NewLocks(cfg)
	if err != nil {
		t.Fatal(err)
	}

	return locks
}

// with returns further claims over the same table.
func (w *watchedClaims) with(t testing.TB, change ...func(*once.Config)) *once.Claims {
	t.Helper()

	cfg := w.config()
	for _, c := range change {
		c(&cfg)
	}

	claims, err := once.New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	return claims
}

// outcomes returns the outcomes that were observed since the last call.
func (w *watchedClaims) outcomes() (all []once.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()

	for _, e := range w.events {
		all = append(all, e.Outcome)
	}
	w.events = nil

	return all
}

var payload = []byte("payload")

// take claims a key, and fails the test if it cannot.
func take(t testing.TB, c *once.Claims, key string) *once.Claim {
	t.Helper()

	got, err := c.Claim(t.Context(), key, payload)
	if err != nil {
		t.Fatalf("claim %s: %v", key, err)
	}

	return got
}

// refused claims a key that cannot be claimed, and checks the error.
func refused(t testing.TB, c *once.Claims, key string, want error) {
	t.Helper()

	if got, err := c.Claim(t.Context(), key, payload); !errors.Is(err, want) {
		t.Errorf("claim %s: %+v, %v, want %v", key, got, err, want)
	}
}

// record reads the item under a key as it is.
func (w *watchedClaims) record(t testing.TB, key string) item {
	t.Helper()

	out, err := w.db.Client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("once"), ConsistentRead: aws.Bool(true),
		Key: item{"idempotencyKey": &types.AttributeValueMemberS{Value: key}}})
	if err != nil {
		t.Fatal(err)
	}

	return out.Item
}

// sweep deletes the item under a key, as TTL would.
func (w *watchedClaims) sweep(t testing.TB, key string) {
	t.Helper()

	if _, err := w.db.Client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("once"),
		Key: item{"idempotencyKey": &types.AttributeValueMemberS{Value: key}}}); err != nil {
		t.Fatal(err)
	}
}

func numberOf(v types.AttributeValue) int64 {
	n, _ := v.(*types.AttributeValueMemberN)
	if n == nil {
		return 0
	}
	i, _ := strconv.ParseInt(n.Value, 10, 64)

	return i
}
