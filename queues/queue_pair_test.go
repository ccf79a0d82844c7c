package queues

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/embedded"
	"ratchet/embedded/embeddedtest"
)

// queuePair is an engine with a queue and its dead letters, in a directory made outside of
// the synctest bubble.
type queuePair struct {
	t         *testing.T
	engine    *embedded.Engine
	api       *sqs.Client // without faults
	transport *embeddedtest.Transport
	url, dead string
}

func newQueuePair(t *testing.T, dir, suffix string) *queuePair {
	t.Helper()

	engine := embeddedtest.Open(t, func(c *embedded.Config) { c.Dir = dir })
	q := &queuePair{
		t:         t,
		engine:    engine,
		api:       sqs.NewFromConfig(engine.AWSConfig()),
		transport: embeddedtest.NewTransport(engine.HTTPClient()),
	}

	attributes := map[string]string{"VisibilityTimeout": "43200"} // only the consumer's visibility timeouts must count
	if suffix != "" {
		attributes["FifoQueue"] = "true"
	}

	for _, one := range []struct {
		name string
		url  *string
	}{{name: "orders", url: &q.url}, {name: "dead", url: &q.dead}} {
		out, err := q.api.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(one.name + suffix), Attributes: attributes})
		if err != nil {
			t.Fatal(err)
		}
		*one.url = *out.QueueUrl
	}

	return q
}

// config consumes the queue through the transport.
func (q *queuePair) config(h Handler) Config {
	cfg := q.engine.AWSConfig()
	cfg.HTTPClient = q.transport

	return Config{
		SQS:           sqs.NewFromConfig(cfg),
		QueueURL:      q.url,
		DeadLetterURL: q.dead,
		Handler:       h,
		PollGrace:     -1,
		Log:           embeddedtest.Quiet(),
	}
}

// run starts a consumer; stop ends it and waits.
func (q *queuePair) run(cfg Config) (stop func()) {
	q.t.Helper()

	c, err := New(cfg)
	if err != nil {
		q.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()

			if err := <-ended; err != nil {
				q.t.Errorf("run: %v", err)
			}
		})
	}
	q.t.Cleanup(stop)

	return stop
}

// send sends bodies; "g:body" goes into group g.
func (q *queuePair) send(bodies ...string) {
	q.t.Helper()

	for _, body := range bodies {
		in := &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body}
		if group, rest, ok := strings.Cut(body, ":"); ok {
			in.MessageGroupId, in.MessageBody, in.MessageDeduplicationId = &group, &rest, &body
		}

		if _, err := q.api.SendMessage(q.t.Context(), in); err != nil {
			q.t.Fatal(err)
		}
	}
}

// counts are the queue's visible and invisible messages, and the dead letters.
func (q *queuePair) counts() string {
	q.t.Helper()

	var out []string
	for _, url := range []string{q.url, q.dead} {
		a, err := q.api.GetQueueAttributes(q.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"All"}})
		if err != nil {
			q.t.Fatal(err)
		}
		out = append(out, a.Attributes["ApproximateNumberOfMessages"]+"+"+a.Attributes["ApproximateNumberOfMessagesNotVisible"])
	}

	return strings.Join(out, " ")
}

func (q *queuePair) expect(what, want string) {
	q.t.Helper()

	if got := q.counts(); got != want {
		q.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// journal notes what a handler was called with, and when.
type journal struct {
	mu    sync.Mutex
	start time.Time
	lines []string
}

func newJournal() *journal { return &journal{start: time.Now()} }

func (j *journal) note(m Message) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf("%s#%d@%v", m.Body, m.Receives, time.Since(j.start).Round(time.Second)))
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, " ")
}

// fault makes a call fail.
type fault int

const (
	none       fault = iota
	lost             // the request does not arrive
	unanswered       // it arrives, and the answer does not
	halved           // of a batch only the first half arrives; the other half fails
)

// interfere lets rule say what happens to each call of the consumer. It gets the
// operation and how often it was called before.
func (q *queuePair) interfere(rule func(operation string, n int) fault) {
	q.transport.Around(func(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
		switch rule(c.Operation, c.N-1) {
		case lost:
			return nil, embeddedtest.ErrLost
		case unanswered:
			if response, err := send(); err == nil {
				_ = response.Body.Close()
			}

			return nil, embeddedtest.ErrAnswerLost
		case halved:
			return halve(c, send)
		}

		return send()
	})
}

// halve sends the first half of a batch and answers for the other with an error of the
// service for each message.
func halve(c *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
	var in struct {
		QueueUrl string //nolint:revive // the wire's name
		Entries  []map[string]any
	}
	if err := json.Unmarshal(c.Body(), &in); err != nil {
		return nil, err
	}

	keep := (len(in.Entries) + 1) / 2
	rest := in.Entries[keep:]
	in.Entries = in.Entries[:keep]
	c.SetBody(mustJSON(in))

	response, err := send()
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()

	var out struct {
		Successful []map[string]any
		Failed     []map[string]any
	}
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		return nil, err
	}

	for _, e := range rest {
		out.Failed = append(out.Failed, map[string]any{"Id": e["Id"], "Code": "InternalError", "Message": "try again", "SenderFault": false})
	}

	return c.Respond(http.StatusOK, string(mustJSON(out))), nil
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}

	return b
}

var allSystem = []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}

func attributesOf(name, text string) map[string]types.MessageAttributeValue {
	return map[string]types.MessageAttributeValue{name: {DataType: aws.String("String"), StringValue: &text}}
}
