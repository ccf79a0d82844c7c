package requests_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
	"ratchet/queues"
	"ratchet/queues/requests"
	"ratchet/tests/shop"
	"ratchet/transitions"
	"ratchet/workflow"
)

// orderQueue is orders and a queue of requests on an engine of its own, in a directory made outside
// of the synctest bubble.
type orderQueue struct {
	*transitions.Orders
	t         *testing.T
	api       *sqs.Client
	tables    *dynamodb.Client
	engine    *embedded.Engine
	url, dead string
	// database is the client through which the orders reach DynamoDB.
	database *embeddedtest.Transport
}

func newOrderQueue(t *testing.T, dir, suffix string) *orderQueue {
	t.Helper()

	e := embeddedtest.Open(t, func(c *embedded.Config) { c.Dir = dir })
	kit := shop.Over(t, e.AWSConfig())
	orders := kit.Orders(shop.Journal(transitions.JournalTransactional), shop.WithoutRequests)
	s := &orderQueue{Orders: orders, t: t, engine: e, tables: kit.DB, api: sqs.NewFromConfig(e.AWSConfig()), database: kit.Wire}

	attributes := map[string]string{}
	if suffix != "" {
		attributes["FifoQueue"] = "true"
	}

	for name, url := range map[string]*string{"requests" + suffix: &s.url, "dead" + suffix: &s.dead} {
		out, err := s.api.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
		if err != nil {
			t.Fatal(err)
		}
		*url = *out.QueueUrl
	}

	return s
}

// config returns the configuration of a consumer with the handler.
func (s *orderQueue) config(cfg requests.Config) queues.Config {
	s.t.Helper()

	h, err := requests.New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}

	return queues.Config{
		SQS:           s.api,
		QueueURL:      s.url,
		DeadLetterURL: s.dead,
		Handler:       h.Handle,
		PollGrace:     -1,
		Slots:         40,
		Log:           embeddedtest.Quiet(),
	}
}

// run starts a consumer; stop ends it and waits.
func (s *orderQueue) run(cfg queues.Config) (stop func()) {
	s.t.Helper()

	c, err := queues.New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()

			if err := <-ended; err != nil {
				s.t.Errorf("run: %v", err)
			}
		})
	}
	s.t.Cleanup(stop)

	return stop
}

func (s *orderQueue) create(ids ...transitions.OrderID) {
	s.t.Helper()

	for _, id := range ids {
		shop.Place(s.t, s.Orders, shop.Mugs(id, 1))
	}
}

func (s *orderQueue) send(bodies ...string) {
	s.t.Helper()

	for _, b := range bodies {
		if _, err := s.api.SendMessage(s.t.Context(), &sqs.SendMessageInput{QueueUrl: &s.url, MessageBody: &b}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *orderQueue) state(id transitions.OrderID) workflow.State {
	s.t.Helper()

	o, found, err := s.Get(s.t.Context(), id)
	if err != nil || !found {
		s.t.Fatalf("order %s: %v, %v", id, found, err)
	}

	return o.State
}

// left are the messages in the queue, and the reasons of the dead letters.
func (s *orderQueue) left() (queued string, reasons []string) {
	s.t.Helper()

	a, err := s.api.GetQueueAttributes(s.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &s.url, AttributeNames: []types.QueueAttributeName{"All"}})
	if err != nil {
		s.t.Fatal(err)
	}

	for {
		out, err := s.api.ReceiveMessage(s.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &s.dead, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"}})
		if err != nil {
			s.t.Fatal(err)
		}

		if len(out.Messages) == 0 {
			break
		}

		for _, m := range out.Messages {
			reasons = append(reasons, *m.MessageAttributes[queues.AttributeReason].StringValue)
		}
	}

	return a.Attributes["ApproximateNumberOfMessages"] + "+" + a.Attributes["ApproximateNumberOfMessagesNotVisible"], reasons
}

func onQueue(t *testing.T, suffix string, test func(t *testing.T, s *orderQueue)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { test(t, newOrderQueue(t, dir, suffix)) })
}

func TestVerdictDecidesTheDisposition(t *testing.T) {
	const pay, ship = `{"orderId":"o-1","event":"pay","transitionId":2}`, `{"orderId":"o-1","event":"ship","transitionId":3}`
	for _, c := range []struct {
		name     string
		messages []string
		later    func(s *orderQueue) // a minute in
		state    workflow.State
		reason   string // of the dead letter, empty for none
	}{
		{"applied", []string{pay}, nil, workflow.PaymentReceived, ""},
		{"replayed", []string{pay, pay, pay}, nil, workflow.PaymentReceived, ""},
		{"superseded", []string{`{"orderId":"o-1","event":"hold","transitionId":5}`, pay}, nil, workflow.OnHold, ""},
		{"a state that may come yet is waited for, and then the request is given up", []string{ship}, nil, workflow.Pending, "given up after 5 attempts: apply ship to order o-1: WrongState: the order is PENDING, the event needs [PAYMENT_RECEIVED PARTIALLY_SHIPPED]"},
		{"a state that came", []string{`{"orderId":"o-1","event":"ship"}`}, func(s *orderQueue) { s.apply(pay) }, workflow.Shipped, ""},
		{"a state that can never come", []string{`{"orderId":"o-1","event":"cancel","transitionId":2}`, `{"orderId":"o-1","event":"ship"}`}, nil, workflow.Cancelled, "apply ship to order o-1: WrongState: the order is CANCELLED, the event needs [PAYMENT_RECEIVED PARTIALLY_SHIPPED]"},
		{"an order that is placed later", []string{`{"orderId":"o-2","event":"cancel"}`}, func(s *orderQueue) { s.create("o-2") }, workflow.Pending, ""},
		{"an order that never is", []string{`{"orderId":"o-3","event":"cancel"}`}, nil, workflow.Pending, "given up after 5 attempts: apply cancel to order o-3: NotFound"},
		{"the same id for something else", []string{pay, `{"orderId":"o-1","event":"cancel","transitionId":2}`}, nil, workflow.PaymentReceived, "apply cancel to order o-1: Conflict"},
		{"no such event", []string{`{"orderId":"o-1","event":"explode"}`}, nil, workflow.Pending, "apply explode to order o-1: Illegal"},
		{"a body that is not a request", []string{`{"orderId":"o-1","event":"pay","when":"now"}`}, nil, workflow.Pending, "not a transition request: unknown member at byte 31"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onQueue(t, "", func(t *testing.T, s *orderQueue) {
				s.create("o-1")
				cfg := s.config(requests.Config{Orders: s})
				cfg.Slots = 1 // one after the other, as sent
				cfg.Backoff = queues.Backoff{Base: 20 * time.Second}
				s.run(cfg)
				s.send(c.messages...)
				time.Sleep(5 * time.Second)

				if c.later != nil {
					c.later(s)
				}
				time.Sleep(time.Hour)
				synctest.Wait()

				if got := s.state("o-1"); got != c.state {
					t.Errorf("the order is %s, want %s", got, c.state)
				}

				queued, reasons := s.left()
				if queued != "0+0" || strings.Join(reasons, "; ") != c.reason {
					t.Errorf("%s messages are left; dead letters: %q, want %q", queued, reasons, c.reason)
				}
			})
		})
	}
}

// Own attributes that no order can have are rejected at once; a condition that does not hold is waited for.
func TestAMessageCarriesOwnAttributes(t *testing.T) {
	const filled = 7
	many := func(n int) string {
		return fmt.Sprintf(`{"orderId":"o-1","event":"%s","transitionId":%d,"own":{"set":{"a%d":{"S":%q}}}}`, []string{"hold", "release"}[n%2], n+2, n, strings.Repeat("x", 60000))
	}
	var full []string
	for n := range filled {
		full = append(full, many(n))
	}

	const from = `{"orderId":"o-1","event":"pay","requestId":"r-1","own":`
	for _, c := range []struct {
		name     string
		messages []string
		later    func(s *orderQueue) // a minute in
		own      string
		reason   string // of the dead letter, empty for none
	}{
		{"written with the transition", []string{from + `{"set":{"shelf":{"S":"B7"}},"remove":["size"],"if":{"equals":{"size":{"N":"3"}}}}}`}, nil, `{"shelf":{"S":"B7"}}`, ""},
		{"a field of Ratchet's", []string{from + `{"set":{"total":{"S":"secret"}}}}`}, nil, `{"size":{"N":"3"}}`,
			`apply pay to order o-1: invalid request: own/set/total: attribute "total": is one of Ratchet's fields: total`},
		{"the key", []string{from + `{"remove":["orderId"]}}`}, nil, `{"size":{"N":"3"}}`,
			`apply pay to order o-1: invalid request: own/remove/0: attribute "orderId": is the key of the table`},
		{"a key of an index", []string{from + `{"set":{"shelf":{"N":"1"}}}}`}, nil, `{"size":{"N":"3"}}`,
			`apply pay to order o-1: invalid request: own/set/shelf: must be of type S, not N: it is a key of the index "by-shelf"`},
		{"no room", full, nil, "", "apply transition 8 (hold) to order o-1: the order is full: item bytes: at most 409600"},
		{"a condition that never holds", []string{from + `{"set":{"a":{"N":"1"}},"if":{"equals":{"size":{"N":"4"}}}}}`}, nil, `{"size":{"N":"3"}}`,
			`given up after 5 attempts: apply pay to order o-1: WrongState: the order is PENDING, the event needs [PENDING] and own attribute "size" has another value than the request needs`},
		{"a condition that comes to hold", []string{from + `{"set":{"a":{"N":"1"}},"if":{"exists":["checked"]}}}`},
			func(s *orderQueue) { s.setOwn("checked") }, `{"a":{"N":"1"},"checked":{"NULL":true},"size":{"N":"3"}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			onQueue(t, "", func(t *testing.T, s *orderQueue) {
				s.indexShelf()
				order := shop.Mugs("o-1", 1)
				order.Own = transitions.Attributes{"size": &dynamodbtypes.AttributeValueMemberN{Value: "3"}}
				shop.Place(t, s.Orders, order)

				cfg := s.config(requests.Config{Orders: s})
				cfg.Slots = 1 // one after the other, as sent
				cfg.Backoff = queues.Backoff{Base: 20 * time.Second}
				s.run(cfg)
				s.send(c.messages...)
				time.Sleep(5 * time.Second)

				if c.later != nil {
					c.later(s)
				}
				time.Sleep(time.Hour)
				synctest.Wait()

				queued, reasons := s.left()
				if queued != "0+0" || len(reasons) > 1 || !strings.HasPrefix(strings.Join(reasons, ""), c.reason) || c.reason == "" && len(reasons) > 0 {
					t.Errorf("%s messages are left; dead letters: %q, want %q", queued, reasons, c.reason)
				}

				if got := s.own("o-1"); c.own != "" && got != c.own {
					t.Errorf("own attributes %s, want %s", got, c.own)
				}
			})
		})
	}
}

// indexShelf makes the own attribute "shelf" the key of an index.
func (s *orderQueue) indexShelf() {
	s.t.Helper()

	if _, err := s.tables.UpdateTable(s.t.Context(), &dynamodb.UpdateTableInput{
		TableName:            aws.String(shop.OrdersTable),
		AttributeDefinitions: []dynamodbtypes.AttributeDefinition{{AttributeName: aws.String("shelf"), AttributeType: dynamodbtypes.ScalarAttributeTypeS}},
		GlobalSecondaryIndexUpdates: []dynamodbtypes.GlobalSecondaryIndexUpdate{{Create: &dynamodbtypes.CreateGlobalSecondaryIndexAction{
			IndexName:  aws.String("by-shelf"),
			KeySchema:  []dynamodbtypes.KeySchemaElement{{AttributeName: aws.String("shelf"), KeyType: dynamodbtypes.KeyTypeHash}},
			Projection: &dynamodbtypes.Projection{ProjectionType: dynamodbtypes.ProjectionTypeKeysOnly},
		}}},
	}); err != nil {
		s.t.Fatal(err)
	}
}

// setOwn sets an own attribute of the order o-1 by an edit.
func (s *orderQueue) setOwn(name string) {
	s.t.Helper()

	change := transitions.OwnChange{Set: transitions.Attributes{name: &dynamodbtypes.AttributeValueMemberNULL{Value: true}}}
	if r, err := s.SetOwn(s.t.Context(), transitions.Edit{OrderID: "o-1", EventID: "e-1"}, change); err != nil || r.Verdict != transitions.Applied {
		s.t.Fatal(r.Verdict, err)
	}
}

// own returns the order's own attributes in DynamoDB's JSON.
func (s *orderQueue) own(id transitions.OrderID) string {
	s.t.Helper()

	order, _, err := s.Get(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}

	text, err := json.Marshal(order.Own)
	if err != nil {
		s.t.Fatal(err)
	}

	return string(text)
}

func (s *orderQueue) apply(body string) {
	s.t.Helper()

	r, err := requests.Decode(queues.Message{ID: "m", Body: body})
	if err != nil {
		s.t.Fatal(err)
	}

	if result, err := s.Apply(s.t.Context(), r); err != nil || !result.Verdict.Done() {
		s.t.Fatalf("%s: %v, %v", body, result.Verdict, err)
	}
}

// TestOutageCostsNoAttempt: after half an hour without DynamoDB the message is applied, and
// is not a dead letter.
func TestOutageCostsNoAttempt(t *testing.T) {
	onQueue(t, "", func(t *testing.T, s *orderQueue) {
		s.create("o-1")
		outage := s.database.Inject(embeddedtest.LoseRequest().With(errors.New("connection refused")))
		s.run(s.config(requests.Config{Orders: s}))
		s.send(`{"orderId":"o-1","event":"cancel","requestId":"r"}`)
		time.Sleep(30 * time.Minute)
		outage.Remove()
		time.Sleep(6 * time.Minute)
		synctest.Wait()

		queued, reasons := s.left()
		if s.state("o-1") != workflow.Cancelled || queued != "0+0" || reasons != nil || outage.Strikes() < 10 {
			t.Errorf("the order is %s after %d calls; left %s, dead letters %v", s.state("o-1"), outage.Strikes(), queued, reasons)
		}
	})
}

// TestAnswerRunsBeforeTheMessageIsDeleted: after an error of Answer the message comes again.
func TestAnswerRunsBeforeTheMessageIsDeleted(t *testing.T) {
	onQueue(t, "", func(t *testing.T, s *orderQueue) {
		s.create("o-1")
		var answers []string
		h := requests.Config{Orders: s, Answer: func(_ context.Context, _ queues.Message, r transitions.Request, result transitions.Result) error {
			answers = append(answers, string(r.Event)+" "+result.Verdict.String())
			if len(answers) == 1 {
				return errors.New("unavailable")
			}

			return nil
		}}
		cfg := s.config(h)
		cfg.Slots = 1
		s.run(cfg)
		s.send(`{"orderId":"o-1","event":"cancel"}`)
		time.Sleep(time.Minute)
		s.send(`{"orderId":"o-1","event":"explode"}`)
		time.Sleep(time.Minute)
		synctest.Wait()

		if got := strings.Join(answers, ", "); got != "cancel Applied, cancel Replayed, explode Illegal" {
			t.Errorf("answers: %s", got)
		}
	})
}

// TestMiddlewareMayAcceptARefusal: a middleware decides by the verdict.
func TestMiddlewareMayAcceptARefusal(t *testing.T) {
	onQueue(t, "", func(t *testing.T, s *orderQueue) {
		s.create("o-1")
		cfg := s.config(requests.Config{Orders: s})
		cfg.Slots = 1
		cfg.Middleware = []queues.Middleware{func(next queues.Handler) queues.Handler {
			return func(ctx context.Context, m queues.Message) queues.Outcome {
				o := next(ctx, m)
				var refusal *requests.VerdictError
				if o.Kind == queues.KindReject && errors.As(o.Err, &refusal) && refusal.Result.Verdict == transitions.WrongState {
					return queues.Done() // the request came too late
				}

				return o
			}
		}}
		s.run(cfg)
		s.send(`{"orderId":"o-1","event":"cancel"}`, `{"orderId":"o-1","event":"pay"}`)
		time.Sleep(time.Minute)
		synctest.Wait()

		if queued, reasons := s.left(); queued != "0+0" || reasons != nil {
			t.Errorf("left %s, dead letters %v", queued, reasons)
		}
	})
}

func TestNewRequiresOrders(t *testing.T) {
	if _, err := requests.New(requests.Config{}); err == nil || !strings.Contains(err.Error(), "Orders") {
		t.Errorf("got %v", err)
	}
}
