package embedded

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	qtypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"pgregory.net/rapid"
)

// modelMessage is a message in the model.
type modelMessage struct {
	body, group string
	receives    int
	inFlight    bool
	visible     time.Time
	handle      *string
}

// queueModel is a queue and a list that must hold the same messages.
type queueModel struct {
	*queueing
	dir      string
	fifo     bool
	sent     int
	messages []*modelMessage // in the order in which they were sent
	dead     []string
	void     []*string // handles that are not the last ones
}

const (
	modelVisibility = 10 * time.Second
	modelReceives   = 3
)

// settle makes messages visible whose visibility timeout is over.
func (m *queueModel) settle() {
	for _, x := range m.messages {
		if x.inFlight && !x.visible.After(time.Now()) {
			x.inFlight = false
		}
	}
}

// next returns the messages that a receive of up to most messages must return.
func (m *queueModel) next(most int) []*modelMessage {
	m.settle()

	// A message in flight blocks those of its group that were sent after it.
	blocked := map[string]bool{}

	var free []*modelMessage
	var groups []string
	for _, x := range m.messages {
		if x.inFlight && m.fifo {
			blocked[x.group] = true
		}

		if !x.inFlight && !blocked[x.group] {
			free = append(free, x)
			if !slices.Contains(groups, x.group) {
				groups = append(groups, x.group)
			}
		}
	}

	if m.fifo { // a group whole before the next one
		slices.SortStableFunc(free, func(a, b *modelMessage) int {
			return slices.Index(groups, a.group) - slices.Index(groups, b.group)
		})
	}

	var out []*modelMessage
	for _, x := range free {
		if len(out) == most {
			break
		}

		if x.receives >= modelReceives {
			m.dead = append(m.dead, x.body)
			m.drop(x)
			continue
		}
		out = append(out, x)
	}

	return out
}

func (m *queueModel) drop(x *modelMessage) {
	m.messages = slices.DeleteFunc(m.messages, func(y *modelMessage) bool { return x == y })
}

func (m *queueModel) send(rt *rapid.T) {
	m.sent++
	x := &modelMessage{body: fmt.Sprint(m.sent)}
	in := &sqs.SendMessageInput{QueueUrl: &m.url, MessageBody: &x.body}
	if m.fifo {
		x.group = rapid.SampledFrom([]string{"g", "h", "i"}).Draw(rt, "group")
		in.MessageGroupId, in.MessageDeduplicationId = &x.group, &x.body
	}

	for range rapid.IntRange(1, 2).Draw(rt, "times") { // a duplicate on a FIFO queue
		if _, err := m.api.SendMessage(m.t.Context(), in); err != nil {
			rt.Fatal(err)
		}

		if !m.fifo {
			break
		}
	}
	m.messages = append(m.messages, x)
}

func (m *queueModel) receiveSome(rt *rapid.T) {
	most := rapid.IntRange(1, 10).Draw(rt, "most")
	want := m.next(most)
	got := m.receive(int32(most))

	var names []string
	for _, x := range want {
		names = append(names, x.body)
	}

	if bodiesOf(got) != strings.Join(names, " ") {
		rt.Fatalf("received %q, want %q", bodiesOf(got), names)
	}

	for i, x := range want {
		if x.handle != nil {
			m.void = append(m.void, x.handle)
		}

		x.receives, x.inFlight, x.visible, x.handle = x.receives+1, true, time.Now().Add(modelVisibility), got[i].ReceiptHandle
		if n := got[i].Attributes["ApproximateReceiveCount"]; n != fmt.Sprint(x.receives) {
			rt.Fatalf("message %s was received %s times, want %d", x.body, n, x.receives)
		}
	}
}

// held draws a message that has been received at least once.
func (m *queueModel) held(rt *rapid.T) *modelMessage {
	m.settle()

	var held []*modelMessage
	for _, x := range m.messages {
		if x.handle != nil {
			held = append(held, x)
		}
	}

	if len(held) == 0 {
		rt.Skip("nothing was received")
	}

	return rapid.SampledFrom(held).Draw(rt, "message")
}

func (m *queueModel) remove(rt *rapid.T) {
	x := m.held(rt)
	err := m.delete(x.handle)
	if m.fifo && !x.inFlight {
		if code(err) != "InvalidParameterValue" {
			rt.Fatalf("a handle that has expired: %v", err)
		}
		return
	}

	if err != nil {
		rt.Fatal(err)
	}
	m.drop(x)
}

func (m *queueModel) extend(rt *rapid.T) {
	x := m.held(rt)
	seconds := rapid.Int32Range(0, 20).Draw(rt, "seconds")
	err := m.hide(x.handle, seconds)
	if !x.inFlight {
		if code(err) != "MessageNotInflight" {
			rt.Fatalf("a message that is not in flight: %v", err)
		}
		return
	}

	if err != nil {
		rt.Fatal(err)
	}
	x.visible = time.Now().Add(time.Duration(seconds) * time.Second)
}

// useVoid deletes by a handle that is not the newest, which must do nothing.
func (m *queueModel) useVoid(rt *rapid.T) {
	if len(m.void) == 0 {
		rt.Skip("no void handle")
	}
	_ = m.delete(rapid.SampledFrom(m.void).Draw(rt, "void"))
}

func (m *queueModel) check(rt *rapid.T) {
	m.settle()

	visible, hidden := 0, 0
	for _, x := range m.messages {
		if x.inFlight {
			hidden++
		} else {
			visible++
		}
	}

	if got, want := m.counts(), fmt.Sprintf("%d %d 0", visible, hidden); got != want {
		rt.Fatalf("counts %s, want %s", got, want)
	}
}

// reopen closes the engine and opens it over the same data.
func (m *queueModel) reopen(t *testing.T) {
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}

	e, err := Open(Config{Dir: m.dir})
	if err != nil {
		t.Fatal(err)
	}
	m.fixture = newFixture(t, e)
	m.api = sqs.NewFromConfig(e.AWSConfig())
}

// bubbled hides the test's deadline from rapid: inside a synctest bubble testing.T panics
// when it is asked for.
type bubbled struct{ rapid.TB }

// TestQueueModel sends, receives, deletes, extends and waits at random, and reopens the engine
// in between. The queue must return the messages that the list does, with the same receive
// counts, and messages that are received too often must be in the dead-letter queue, in order.
func TestQueueModel(t *testing.T) {
	t.Parallel()

	for _, suffix := range []string{"", ".fifo"} {
		t.Run("queue"+suffix, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				e, err := Open(Config{Dir: dir})
				if err != nil {
					t.Fatal(err)
				}
				m := &queueModel{queueing: &queueing{fixture: newFixture(t, e), api: sqs.NewFromConfig(e.AWSConfig())}, dir: dir, fifo: suffix != ""}
				defer func() {
					if err := m.Close(); err != nil {
						t.Error(err)
					}
				}()
				n := 0
				rapid.Check(bubbled{t}, func(rt *rapid.T) {
					n++
					m.sent, m.messages, m.dead, m.void = 0, nil, nil, nil
					dead := fmt.Sprintf("dead-%d%s", n, suffix)
					deadURL := m.create(dead, nil)
					m.url = m.create(fmt.Sprintf("q-%d%s", n, suffix), map[string]string{"VisibilityTimeout": "10",
						"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:%s","maxReceiveCount":%d}`, dead, modelReceives)})
					rt.Repeat(map[string]func(*rapid.T){
						"": m.check, "send": m.send, "receive": m.receiveSome, "delete": m.remove, "extend": m.extend, "void": m.useVoid,
						"wait": func(rt *rapid.T) { time.Sleep(time.Duration(rapid.IntRange(1, 8).Draw(rt, "seconds")) * time.Second) },
						"reopen": func(rt *rapid.T) {
							if rapid.IntRange(0, 9).Draw(rt, "reopen") == 0 {
								m.reopen(t)
							}
						},
					})

					m.url = deadURL
					var dead2 []string
					for {
						got := m.receive(10)
						if len(got) == 0 {
							break
						}

						for _, x := range got {
							dead2 = append(dead2, *x.Body)
							if _, err := m.api.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &deadURL, ReceiptHandle: x.ReceiptHandle}); err != nil {
								rt.Fatal(err)
							}
						}
					}

					if suffix != "" { // groups are read one after the other
						slices.Sort(dead2)
						slices.Sort(m.dead)
					}

					if !slices.Equal(dead2, m.dead) {
						rt.Fatalf("dead letters %v, want %v", dead2, m.dead)
					}
				})
			})
		})
	}
}

// TestQueuesSurviveAReopening checks messages, receive counts, handles and deduplication ids.
func TestQueuesSurviveAReopening(t *testing.T) {
	dir := t.TempDir()
	f := reopen(t, dir)
	q := newQueueing(f, "q.fifo", map[string]string{"VisibilityTimeout": "43200"})
	q.send("g:a", "g:b", "h:c")

	got := q.receive(2)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	f = reopen(t, dir)
	q.fixture, q.api = f, sqs.NewFromConfig(f.AWSConfig())
	expect(t, "counts", q.counts(), "1 2 0")
	q.send("g:a") // within five minutes
	expect(t, "the group in flight is blocked", q.bodies(10), "c")

	for _, m := range got {
		if err := q.delete(m.ReceiptHandle); err != nil {
			t.Errorf("a handle from before: %v", err)
		}
	}
	expect(t, "counts", q.counts(), "0 1 0")

	if _, err := q.api.ChangeMessageVisibilityBatch(t.Context(), &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.url,
		Entries: []qtypes.ChangeMessageVisibilityBatchRequestEntry{{Id: aws.String("0"), ReceiptHandle: got[0].ReceiptHandle}}}); err != nil {
		t.Error(err)
	}
}
