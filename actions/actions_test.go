package actions_test

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"ratchet/actions"
	"ratchet/embedded/embeddedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// clock is the callers' clock; tests move it.
type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(start.UnixMilli())
	return c
}

func (c *clock) Now() time.Time          { return time.UnixMilli(c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(d.Milliseconds()) }

// faults lets a test interfere with the calls.
type faults struct {
	client *http.Client
	mu     sync.Mutex
	// before may refuse a request, after may lose the answer to one that was carried out.
	before, after func(operation string) error
	calls         []string
}

func (f *faults) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	f.mu.Lock()
	f.calls = append(f.calls, operation)
	before, after := f.before, f.after
	f.mu.Unlock()

	if before != nil {
		if err := before(operation); err != nil {
			return nil, err
		}
	}

	response, err := f.client.Do(r)
	if err == nil && after != nil {
		if lost := after(operation); lost != nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			return nil, lost
		}
	}

	return response, err
}

// set puts other faults in place; nil for none.
func (f *faults) set(before, after func(operation string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

// count returns the calls since the last count.
func (f *faults) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.calls)
	f.calls = nil

	return n
}

// loseNext loses the answers to the next n writes, which are carried out.
func (f *faults) loseNext(n int32) {
	var left atomic.Int32
	left.Store(n)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.after = func(operation string) error {
		if operation != "GetItem" && left.Add(-1) >= 0 {
			return io.ErrUnexpectedEOF // the SDK sends it again
		}
		return nil
	}
}

// shop is actions on an engine of their own.
type shop struct {
	*actions.Actions
	db    *dynamodb.Client
	wire  *faults
	clock *clock
	keys  []actions.Key
}

// backend is an embedded engine of the test's own, or the DynamoDB Local whose URL is
// in RATCHET_TEST_DYNAMODB_LOCAL, which keeps the data of each access key apart.
func backend(t testing.TB) (aws.Config, *http.Client) {
	t.Helper()

	endpoint := os.Getenv("RATCHET_TEST_DYNAMODB_LOCAL")
	if endpoint == "" {
		engine := embeddedtest.Open(t)
		return engine.AWSConfig(), engine.HTTPClient()
	}
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	t.Cleanup(client.CloseIdleConnections)

	return aws.Config{Region: "us-east-1", BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider(rand.Text(), "secret", "")}, client
}

func newShop(t testing.TB) *shop {
	t.Helper()
	cfg, client := backend(t)
	s := &shop{clock: newClock(), wire: &faults{client: client}, keys: []actions.Key{actions.NewKey(1)}}
	cfg.HTTPClient = s.wire
	s.db = dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
			o.RateLimiter = ratelimit.None
		})
	})
	embeddedtest.Create(t, s.db, actions.TableInput("actions"))
	s.reopen(t, func(*actions.Config) {})

	return s
}

// reopen gives the shop actions with another configuration.
func (s *shop) reopen(t testing.TB, change func(*actions.Config)) {
	t.Helper()
	s.Actions = s.with(t, change)
}

// with opens the same table with another configuration.
func (s *shop) with(t testing.TB, change func(*actions.Config)) *actions.Actions {
	t.Helper()
	cfg := actions.Config{DynamoDB: s.db, Table: "actions", Keys: s.keys, Now: s.clock.Now}
	change(&cfg)

	all, err := actions.New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	return all
}

// make creates an action that lives for an hour, and forgets the calls so far.
func (s *shop) make(t testing.TB, change func(*actions.Spec)) actions.Action {
	t.Helper()

	spec := actions.Spec{Payload: json.RawMessage(`{"user":"u-1"}`), ExpiresAt: s.clock.Now().Add(time.Hour)}
	if change != nil {
		change(&spec)
	}

	made, err := s.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	s.wire.count()

	return made
}

func withPIN(spec *actions.Spec) { spec.PIN = "1234" }

// want consumes and checks the outcome.
func (s *shop) want(t testing.TB, r actions.Request, want actions.Outcome) actions.Result {
	t.Helper()
	got, err := s.Consume(t.Context(), r)
	return outcome(t, got, err, want)
}

func outcome(t testing.TB, got actions.Result, err error, want actions.Outcome) actions.Result {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}

	if got.Outcome != want {
		t.Fatalf("outcome %s, want %s (%+v)", got.Outcome, want, got)
	}

	return got
}

// sweep deletes every item that TTL may delete, as DynamoDB does at some time.
func (s *shop) sweep(t testing.TB) {
	t.Helper()

	out, err := s.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("actions")})
	if err != nil {
		t.Fatal(err)
	}

	for _, item := range out.Items {
		n, ok := item[actions.ExpiryAttribute].(*types.AttributeValueMemberN)
		if !ok {
			continue
		}

		if second, err := strconv.ParseInt(n.Value, 10, 64); err != nil || second > s.clock.Now().Unix() {
			continue
		}

		if _, err := s.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("actions"),
			Key: map[string]types.AttributeValue{"actionId": item["actionId"]}}); err != nil {
			t.Fatal(err)
		}
	}
}
