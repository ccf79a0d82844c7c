package queues

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"ratchet/embedded"
)

// world is an engine with a queue and its dead letters, in a directory made outside of
// the synctest bubble.
type world struct {
	t         *testing.T
	engine    *embedded.Engine
	api       *sqs.Client // without faults
	faults    *faultyTransport
	url, dead string
}

func newWorld(t *testing.T, dir, suffix string) *world {
	t.Helper()

	e, err := embedded.Open(embedded.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, engine: e, api: sqs.NewFromConfig(e.AWSConfig()), faults: &faultyTransport{next: e.HTTPClient().Transport}}

	attributes := map[string]string{"VisibilityTimeout": "43200"} // what the consumer sets must count
	if suffix != "" {
		attributes["FifoQueue"] = "true"
	}

	for _, q := range []struct {
		name string
		url  *string
	}{{"orders", &w.url}, {"dead", &w.dead}} {
		out, err := w.api.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(q.name + suffix), Attributes: attributes})
		if err != nil {
			t.Fatal(err)
		}
		*q.url = *out.QueueUrl
	}

	return w
}

// config consumes the queue through the faulty transport.
func (w *world) config(h Handler) Config {
	cfg := w.engine.AWSConfig()
	cfg.HTTPClient = &http.Client{Transport: w.faults}
	return Config{SQS: sqs.NewFromConfig(cfg), QueueURL: w.url, DeadLetterURL: w.dead, Handler: h, PollGrace: -1, Log: slog.New(slog.DiscardHandler)}
}

// run starts a consumer; stop ends it and waits.
func (w *world) run(cfg Config) (stop func()) {
	w.t.Helper()

	c, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()

			if err := <-ended; err != nil {
				w.t.Errorf("run: %v", err)
			}
		})
	}
	w.t.Cleanup(stop)

	return stop
}

// send sends bodies; "g:body" goes into group g.
func (w *world) send(bodies ...string) {
	w.t.Helper()

	for _, body := range bodies {
		in := &sqs.SendMessageInput{QueueUrl: &w.url, MessageBody: &body}
		if group, rest, ok := strings.Cut(body, ":"); ok {
			in.MessageGroupId, in.MessageBody, in.MessageDeduplicationId = &group, &rest, &body
		}

		if _, err := w.api.SendMessage(w.t.Context(), in); err != nil {
			w.t.Fatal(err)
		}
	}
}

// counts are the queue's visible and invisible messages, and the dead letters.
func (w *world) counts() string {
	w.t.Helper()

	var out []string
	for _, url := range []string{w.url, w.dead} {
		a, err := w.api.GetQueueAttributes(w.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"All"}})
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, a.Attributes["ApproximateNumberOfMessages"]+"+"+a.Attributes["ApproximateNumberOfMessagesNotVisible"])
	}

	return strings.Join(out, " ")
}

func (w *world) expect(what, want string) {
	w.t.Helper()

	if got := w.counts(); got != want {
		w.t.Errorf("%s: %s, want %s", what, got, want)
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

// faultyTransport loses or refuses calls on their way. A rule gets the operation and how often
// it was called before.
type faultyTransport struct {
	next  http.RoundTripper
	mu    sync.Mutex
	calls map[string]int
	rule  func(operation string, n int) fault
}

// fault is what happens to a call.
type fault int

const (
	none       fault = iota
	lost             // the request does not arrive
	unanswered       // it arrives, and the answer does not
	halved           // of a batch only the first half arrives; the other half fails
)

var errNetwork = errors.New("connection reset by peer")

func (f *faultyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	f.mu.Lock()
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	n := f.calls[operation]
	f.calls[operation]++
	rule := f.rule
	f.mu.Unlock()

	what := none
	if rule != nil {
		what = rule(operation, n)
	}

	switch what {
	case lost:
		return nil, errNetwork
	case unanswered:
		if resp, err := f.next.RoundTrip(r); err == nil {
			_ = resp.Body.Close()
		}
		return nil, errNetwork
	case halved:
		return f.halve(r)
	}

	return f.next.RoundTrip(r)
}

// obey sets the rule.
func (f *faultyTransport) obey(rule func(operation string, n int) fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rule = rule
}

// halve lets the first half of a batch through and answers for the other with the
// service's own fault.
func (f *faultyTransport) halve(r *http.Request) (*http.Response, error) {
	var in struct {
		QueueUrl string //nolint:revive // the wire's name
		Entries  []map[string]any
	}
	if err := decodeJSON(r.Body, &in); err != nil {
		return nil, err
	}
	keep := (len(in.Entries) + 1) / 2
	rest := in.Entries[keep:]
	in.Entries = in.Entries[:keep]
	sent := r.Clone(r.Context())
	sent.Body = encodeJSON(in)
	sent.ContentLength = -1

	resp, err := f.next.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()

	var out struct {
		Successful []map[string]any
		Failed     []map[string]any
	}
	if err := decodeJSON(resp.Body, &out); err != nil {
		return nil, err
	}

	for _, e := range rest {
		out.Failed = append(out.Failed, map[string]any{"Id": e["Id"], "Code": "InternalError", "Message": "try again", "SenderFault": false})
	}
	resp.Header.Del("X-Amz-Crc32")
	resp.Header.Del("Content-Length")
	resp.ContentLength, resp.Body = -1, encodeJSON(out)

	return resp, nil
}

func decodeJSON(r io.Reader, into any) error { return jsonDecoder(r).Decode(into) }

func encodeJSON(v any) io.ReadCloser { return io.NopCloser(bytes.NewReader(mustJSON(v))) }

var allSystem = []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}

func attributesOf(name, text string) map[string]types.MessageAttributeValue {
	return map[string]types.MessageAttributeValue{name: {DataType: aws.String("String"), StringValue: &text}}
}
