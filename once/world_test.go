package once_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
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

// clock is the clock of one machine; tests move it.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() time.Time          { return time.UnixMilli(c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(d.Milliseconds()) }

// wire is the network. A test may break it.
type wire struct {
	client *http.Client
	// service is the service's clock; it stands in the Date of every answer.
	service *clock
	mu      sync.Mutex
	// request may stop a request that is then not carried out, answer may replace the
	// answer to one that was.
	request func(target string) error
	answer  func(target string, r *http.Response) (*http.Response, error)
	sent    []string
}

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	_, target, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	w.mu.Lock()
	w.sent = append(w.sent, target)
	request, answer := w.request, w.answer
	w.mu.Unlock()

	if request != nil {
		if err := request(target); err != nil {
			return nil, err
		}
	}

	response, err := w.client.Do(r)
	if err != nil {
		return nil, err
	}

	if w.service != nil {
		response.Header.Set("Date", w.service.Now().UTC().Format(http.TimeFormat))
	}

	if answer != nil {
		return answer(target, response)
	}

	return response, nil
}

// requests are those sent since the last call.
func (w *wire) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.sent
	w.sent = nil

	return sent
}

func (w *wire) breaks(request func(string) error, answer func(string, *http.Response) (*http.Response, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.request, w.answer = request, answer
}

var errWire = errors.New("the wire broke")

// loseAnswers loses the answers to the next n writes that are carried out.
func (w *wire) loseAnswers(n int) {
	w.breaks(nil, func(target string, r *http.Response) (*http.Response, error) {
		if n > 0 && writes(target) {
			n--
			_ = r.Body.Close()
			return nil, io.ErrUnexpectedEOF
		}

		return r, nil
	})
}

func writes(target string) bool {
	return target == "UpdateItem" || target == "PutItem" || target == "TransactWriteItems"
}

// meter adds up what the requests cost, in write and read units. A refused write
// costs what the item that refused it takes.
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

// spent is what the requests since the last call cost.
func (m *meter) spent() (write, read float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	write, read = m.write, m.read
	m.write, m.read = 0, 0

	return write, read
}

// world is a table of claims on an engine of its own, a clock, and a network.
type world struct {
	*once.Claims
	clock *clock
	wire  *wire
	db    *meter
	// events are what Observe was told.
	mu     sync.Mutex
	events []once.Event
}

func (w *world) config() once.Config {
	return once.Config{DynamoDB: w.db, Table: "once", Lease: time.Minute, Retention: time.Hour, Margin: time.Second, Now: w.clock.Now,
		Observe: func(e once.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		}}
}

// network returns a client of an engine of the test's own, or of the DynamoDB Local
// whose URL is in RATCHET_TEST_DYNAMODB_LOCAL: the same suite runs against the
// vendor's. It keeps the data of each access key apart.
func network(t testing.TB) (*http.Client, aws.Config) {
	t.Helper()

	endpoint := os.Getenv("RATCHET_TEST_DYNAMODB_LOCAL")
	if endpoint == "" {
		// As over a network: the SDK reads the service's time from the answers.
		return embeddedtest.Open(t).HTTPClient(), aws.Config{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}, BaseEndpoint: aws.String("http://dynamodb.test")}
	}
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	t.Cleanup(client.CloseIdleConnections)

	return client, aws.Config{Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider(rand.Text(), "secret", "")}
}

// newWorld opens a world. Its SDK retries a lost answer at once.
func newWorld(t testing.TB, change ...func(*once.Config)) *world {
	t.Helper()
	client, cfg := network(t)
	w := &world{clock: &clock{}, wire: &wire{client: client}}
	w.clock.now.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	w.wire.service, cfg.HTTPClient = w.clock, w.wire
	w.db = &meter{Client: dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.Retryer = retrying{} })}
	embeddedtest.Create(t, w.db.Client, once.TableInput("once"), once.TableInput("business"))
	w.Claims = w.with(t, change...)

	return w
}

// retrying sends again at once what got no answer, as the SDK does after a pause.
type retrying struct{ aws.NopRetryer }

func (retrying) IsErrorRetryable(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }
func (retrying) MaxAttempts() int                { return 3 }
func (retrying) RetryDelay(int, error) (time.Duration, error) {
	return 0, nil
}

// with returns further claims over the same table.
func (w *world) with(t testing.TB, change ...func(*once.Config)) *once.Claims {
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

// outcomes are the outcomes told since the last call.
func (w *world) outcomes() (all []once.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()

	for _, e := range w.events {
		all = append(all, e.Outcome)
	}
	w.events = nil

	return all
}

var payload = []byte("payload")

// take claims a key, and fails the test when it cannot be had.
func take(t testing.TB, c *once.Claims, key string) *once.Claim {
	t.Helper()

	got, err := c.Claim(t.Context(), key, payload)
	if err != nil {
		t.Fatalf("claim %s: %v", key, err)
	}

	return got
}

// refused claims a key that cannot be had, and checks why.
func refused(t testing.TB, c *once.Claims, key string, want error) {
	t.Helper()

	if got, err := c.Claim(t.Context(), key, payload); !errors.Is(err, want) {
		t.Errorf("claim %s: %+v, %v, want %v", key, got, err, want)
	}
}

// record reads the item under a key as it is.
func (w *world) record(t testing.TB, key string) item {
	t.Helper()

	out, err := w.db.Client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("once"), ConsistentRead: aws.Bool(true),
		Key: item{"idempotencyKey": &types.AttributeValueMemberS{Value: key}}})
	if err != nil {
		t.Fatal(err)
	}

	return out.Item
}

// sweep deletes the item under a key, as TTL would.
func (w *world) sweep(t testing.TB, key string) {
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
