package actions_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/actions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = embeddedtest.Start

// signedActions are actions and their keys on an engine of their own, with a clock and a transport that
// the test controls.
type signedActions struct {
	*actions.Actions
	db        *dynamodb.Client
	transport *embeddedtest.Transport
	clock     embeddedtest.Clock
	keys      []actions.Key
}

func newSignedActions(t testing.TB) *signedActions {
	t.Helper()
	cfg := embeddedtest.Backend(t)
	cfg.Retryer = embeddedtest.RetryAtOnce
	s := &signedActions{transport: embeddedtest.Intercept(&cfg), keys: []actions.Key{actions.NewKey(1)}}
	s.db = dynamodb.NewFromConfig(cfg)
	embeddedtest.Create(t, s.db, actions.TableInput("actions"))
	s.reopen(t, func(*actions.Config) {})

	return s
}

// calls returns the number of calls since the last time.
func (s *signedActions) calls() int {
	n := s.transport.Count()
	s.transport.Reset()

	return n
}

// loseAnswers ends all faults and then loses the answers to the next n writes, which are
// carried out. The SDK sends them again.
func (s *signedActions) loseAnswers(n int) {
	s.transport.Clear()

	if n > 0 {
		s.transport.Inject(embeddedtest.LoseAnswer(embeddedtest.Writes()...).Next(n))
	}
}

// reopen opens the actions with another configuration.
func (s *signedActions) reopen(t testing.TB, change func(*actions.Config)) {
	t.Helper()
	s.Actions = s.with(t, change)
}

// with opens the same table with another configuration.
func (s *signedActions) with(t testing.TB, change func(*actions.Config)) *actions.Actions {
	t.Helper()
	cfg := actions.Config{DynamoDB: s.db, Table: "actions", Keys: s.keys, Now: s.clock.Now}
	change(&cfg)

	all, err := actions.New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	return all
}

// make creates an action that expires in an hour, and resets the count of calls.
func (s *signedActions) make(t testing.TB, change func(*actions.Spec)) actions.Action {
	t.Helper()

	spec := actions.Spec{Payload: json.RawMessage(`{"user":"u-1"}`), ExpiresAt: s.clock.Now().Add(time.Hour)}
	if change != nil {
		change(&spec)
	}

	made, err := s.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	s.calls()

	return made
}

func withPIN(spec *actions.Spec) { spec.PIN = "1234" }

// want consumes and checks the outcome.
func (s *signedActions) want(t testing.TB, r actions.Request, want actions.Outcome) actions.Result {
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

// sweep deletes every item that TTL may delete, as DynamoDB does at some time after its expiry.
func (s *signedActions) sweep(t testing.TB) {
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
