package embedded

import (
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	qtypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// queueing is an engine with one queue and its client.
type queueing struct {
	*fixture
	api *sqs.Client
	url string
}

func openQueue(t *testing.T, name string, attributes map[string]string) *queueing {
	t.Helper()
	return newQueueing(open(t), name, attributes)
}

func newQueueing(f *fixture, name string, attributes map[string]string) *queueing {
	f.t.Helper()
	q := &queueing{fixture: f, api: sqs.NewFromConfig(f.AWSConfig())}
	q.url = q.create(name, attributes)
	return q
}

func (q *queueing) create(name string, attributes map[string]string) string {
	q.t.Helper()

	if strings.HasSuffix(name, ".fifo") {
		attributes = maps.Clone(attributes)
		if attributes == nil {
			attributes = map[string]string{}
		}
		attributes["FifoQueue"] = "true"
	}

	out, err := q.api.CreateQueue(q.t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		q.t.Fatal(err)
	}

	return *out.QueueUrl
}

// send sends bodies; on a FIFO queue "g:body" goes into group g under the body as id.
func (q *queueing) send(bodies ...string) {
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

func (q *queueing) receive(most int32, edit ...func(*sqs.ReceiveMessageInput)) []qtypes.Message {
	q.t.Helper()

	in := &sqs.ReceiveMessageInput{QueueUrl: &q.url, MaxNumberOfMessages: most,
		MessageSystemAttributeNames: []qtypes.MessageSystemAttributeName{"All"}, MessageAttributeNames: []string{"All"}}
	for _, e := range edit {
		e(in)
	}

	out, err := q.api.ReceiveMessage(q.t.Context(), in)
	if err != nil {
		q.t.Fatal(err)
	}

	return out.Messages
}

func (q *queueing) bodies(most int32) string {
	q.t.Helper()
	return bodiesOf(q.receive(most))
}

func bodiesOf(ms []qtypes.Message) string {
	var out []string
	for _, m := range ms {
		out = append(out, *m.Body)
	}

	return strings.Join(out, " ")
}

func (q *queueing) delete(handle *string) error {
	_, err := q.api.DeleteMessage(q.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: handle})
	return err
}

func (q *queueing) hide(handle *string, seconds int32) error {
	_, err := q.api.ChangeMessageVisibility(q.t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &q.url, ReceiptHandle: handle, VisibilityTimeout: seconds})
	return err
}

// counts returns the numbers of visible, in-flight and delayed messages.
func (q *queueing) counts() string {
	q.t.Helper()

	out, err := q.api.GetQueueAttributes(q.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: []qtypes.QueueAttributeName{"All"}})
	if err != nil {
		q.t.Fatal(err)
	}
	a := out.Attributes

	return a["ApproximateNumberOfMessages"] + " " + a["ApproximateNumberOfMessagesNotVisible"] + " " + a["ApproximateNumberOfMessagesDelayed"]
}

// code returns the name of the service's error. The SDK reports the name in the Query protocol.
func code(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return fmt.Sprint(err)
	}

	return strings.TrimPrefix(api.ErrorCode(), "AWS.SimpleQueueService.")
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()

	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestAMessageIsInFlightUntilItsVisibilityTimeoutIsOver(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		q := newQueueing(reopen(t, dir), "q", map[string]string{"VisibilityTimeout": "10"})
		q.send("a", "b", "c")
		first := q.receive(2)
		expect(t, "received", bodiesOf(first), "a b")
		expect(t, "counts", q.counts(), "1 2 0")
		expect(t, "what is left", q.bodies(10), "c")
		expect(t, "nothing", q.bodies(10), "")

		if err := q.delete(first[0].ReceiptHandle); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		again := q.receive(10)
		expect(t, "after the time-out", bodiesOf(again), "b c")

		if n := again[0].Attributes["ApproximateReceiveCount"]; n != "2" {
			t.Errorf("received %s times", n)
		}

		if *again[0].ReceiptHandle == *first[1].ReceiptHandle {
			t.Error("two receives, one handle")
		}
		// The old handle is void: the request succeeds and nothing is deleted.
		if err := q.delete(first[1].ReceiptHandle); err != nil {
			t.Error(err)
		}
		expect(t, "change by an old handle", code(q.hide(first[1].ReceiptHandle, 5)), "InvalidParameterValue")

		if err := q.delete(again[0].ReceiptHandle); err != nil {
			t.Error(err)
		}

		if err := q.delete(again[0].ReceiptHandle); err != nil {
			t.Errorf("a deletion again: %v", err)
		}
		expect(t, "counts", q.counts(), "0 1 0")
	})
}

func TestVisibilityIsChanged(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		q := newQueueing(reopen(t, dir), "q", nil)
		q.send("a")
		m := q.receive(1, func(in *sqs.ReceiveMessageInput) { in.VisibilityTimeout = 5 })[0]
		time.Sleep(4 * time.Second)

		if err := q.hide(m.ReceiptHandle, 5); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Second)
		expect(t, "extended", q.bodies(1), "")

		if err := q.hide(m.ReceiptHandle, 0); err != nil {
			t.Fatal(err)
		}
		expect(t, "given back", q.counts(), "1 0 0")
		expect(t, "a message that is not in flight", code(q.hide(m.ReceiptHandle, 5)), "MessageNotInflight")
		m = q.receive(1)[0]
		time.Sleep(time.Second)
		expect(t, "more than 12 h in all", code(q.hide(m.ReceiptHandle, 43200)), "InvalidParameterValue")

		if err := q.hide(m.ReceiptHandle, 43199); err != nil {
			t.Error(err)
		}
		expect(t, "out of bounds", code(q.hide(m.ReceiptHandle, 43201)), "InvalidParameterValue")

		if err := q.delete(m.ReceiptHandle); err != nil {
			t.Fatal(err)
		}
		expect(t, "a message that is gone", code(q.hide(m.ReceiptHandle, 5)), "InvalidParameterValue")
		expect(t, "no handle at all", code(q.hide(aws.String("x"), 5)), "ReceiptHandleIsInvalid")
	})
}

func TestAReceiveWaitsForMessages(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		q := newQueueing(reopen(t, dir), "q", map[string]string{"ReceiveMessageWaitTimeSeconds": "3"})
		start := time.Now()
		expect(t, "nothing", q.bodies(10), "")

		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("waited %v by the queue's own time", d)
		}
		got := make(chan string)
		go func() {
			got <- bodiesOf(q.receive(10, func(in *sqs.ReceiveMessageInput) { in.WaitTimeSeconds = 20 }))
		}()
		time.Sleep(7 * time.Second)
		q.send("a")
		expect(t, "sent meanwhile", <-got, "a")
		// A message that becomes visible by itself ends the wait, too.
		start = time.Now()
		expect(t, "visible again", bodiesOf(q.receive(1, func(in *sqs.ReceiveMessageInput) { in.WaitTimeSeconds = 20 })), "")

		if d := time.Since(start); d != 20*time.Second {
			t.Errorf("waited %v", d)
		}
		expect(t, "visible again", bodiesOf(q.receive(1, func(in *sqs.ReceiveMessageInput) { in.WaitTimeSeconds = 20 })), "a")

		if d := time.Since(start); d != 30*time.Second {
			t.Errorf("visible after %v", d)
		}
		// So does a message whose visibility timeout is shortened, or that is sent with a delay,
		// during the wait.
		q.send("b")

		m := q.receive(1)[0]
		for i, shorten := range []func() error{
			func() error { return q.hide(m.ReceiptHandle, 2) },
			func() error {
				_, err := q.api.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String("c"), DelaySeconds: 2})
				return err
			},
		} {
			start = time.Now()
			go func() {
				got <- bodiesOf(q.receive(1, func(in *sqs.ReceiveMessageInput) { in.WaitTimeSeconds = 20 }))
			}()
			synctest.Wait()

			if err := shorten(); err != nil {
				t.Fatal(err)
			}

			if b := <-got; b == "" || time.Since(start) != 2*time.Second {
				t.Errorf("wait %d: received %q after %v", i, b, time.Since(start))
			}
		}
	})
}

func TestAMessageIsDelayed(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		q := newQueueing(reopen(t, dir), "q", map[string]string{"DelaySeconds": "5"})
		q.send("a")

		if _, err := q.api.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String("b"), DelaySeconds: 2}); err != nil {
			t.Fatal(err)
		}
		expect(t, "counts", q.counts(), "0 0 2")
		time.Sleep(2 * time.Second)
		expect(t, "by its own delay", q.bodies(10), "b")
		time.Sleep(3 * time.Second)
		expect(t, "by the queue's", q.bodies(10), "a")
	})
}

func TestOldMessagesAreGone(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		q := newQueueing(reopen(t, dir), "q", map[string]string{"MessageRetentionPeriod": "60"})
		q.send("a")
		time.Sleep(30 * time.Second)
		q.send("b")
		time.Sleep(30 * time.Second)
		expect(t, "one minute on", q.counts(), "1 0 0")
		expect(t, "left", q.bodies(10), "b")
	})
}

func TestAFIFOQueueKeepsTheOrderOfEachGroup(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		q := newQueueing(reopen(t, dir), "q.fifo", nil)
		q.send("g:1", "g:2", "h:3", "g:4", "h:5")
		first := q.receive(2)
		expect(t, "as many of a group as there is room for", bodiesOf(first), "1 2")
		expect(t, "the group in flight is blocked", q.bodies(10), "3 5")

		if err := q.hide(first[0].ReceiptHandle, 0); err != nil {
			t.Fatal(err)
		}
		// Source: LocalStack's recordings of AWS (test_fifo_group_visibility_extends_with_change_message_visibility).
		one := q.receive(10)
		expect(t, "blocked behind the message in flight", bodiesOf(one), "1")

		for _, handle := range []*string{one[0].ReceiptHandle, first[1].ReceiptHandle} {
			if err := q.hide(handle, 0); err != nil {
				t.Fatal(err)
			}
		}
		again := q.receive(10)
		expect(t, "in order again", bodiesOf(again), "1 2 4")
		expect(t, "an expired handle", code(q.delete(first[0].ReceiptHandle)), "InvalidParameterValue")

		for _, m := range again[:2] {
			if err := q.delete(m.ReceiptHandle); err != nil {
				t.Fatal(err)
			}
		}
		q.send("g:6")
		expect(t, "still blocked", q.bodies(10), "")
		time.Sleep(30 * time.Second)
		all := q.receive(10)
		expect(t, "after the time-out", bodiesOf(all), "3 5 4 6")

		if a, b := all[2].Attributes["SequenceNumber"], all[3].Attributes["SequenceNumber"]; len(a) != 20 || a >= b {
			t.Errorf("sequence numbers %s, %s", a, b)
		}

		if all[0].Attributes["MessageGroupId"] != "h" || all[0].Attributes["MessageDeduplicationId"] != "h:3" {
			t.Errorf("attributes %v", all[0].Attributes)
		}
		time.Sleep(30 * time.Second)
		expect(t, "a handle whose time is over", code(q.delete(all[0].ReceiptHandle)), "InvalidParameterValue")
	})
}

func TestADeduplicationIDIsRememberedForFiveMinutes(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		q := newQueueing(reopen(t, dir), "q.fifo", map[string]string{"ContentBasedDeduplication": "true"})
		send := func(group, body, id string) string {
			t.Helper()

			in := &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body, MessageGroupId: &group}
			if id != "" {
				in.MessageDeduplicationId = &id
			}

			out, err := q.api.SendMessage(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}

			return *out.MessageId + *out.SequenceNumber
		}
		first := send("g", "a", "id")
		expect(t, "the same id", send("h", "b", "id"), first)
		byBody := send("g", "c", "")
		expect(t, "the same body", send("g", "c", ""), byBody)

		for _, m := range q.receive(10) {
			if err := q.delete(m.ReceiptHandle); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5*time.Minute - time.Millisecond)
		expect(t, "also after its message is deleted", send("g", "a", "id"), first)
		time.Sleep(time.Millisecond)

		if send("g", "a", "id") == first {
			t.Error("the id is remembered for longer than five minutes")
		}
		expect(t, "sent", q.bodies(10), "a")

		q.url = q.create("scoped.fifo", map[string]string{"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"})

		if send("g", "a", "id") == send("h", "a", "id") {
			t.Error("groups share deduplication ids, although the queue's scope is the group")
		}
	})
}

func TestAMessageBecomesADeadLetter(t *testing.T) {
	for _, suffix := range []string{"", ".fifo"} {
		t.Run("queue"+suffix, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				q := newQueueing(reopen(t, dir), "dead"+suffix, nil)
				dead := q.url
				arn := "arn:aws:sqs:us-east-1:000000000000:dead" + suffix
				q.url = q.create("q"+suffix, map[string]string{"VisibilityTimeout": "1", "RedrivePolicy": `{"deadLetterTargetArn":"` + arn + `","maxReceiveCount":"2"}`})
				sent := time.Now()

				if suffix == "" {
					q.send("a")
				} else {
					q.send("g:a", "g:b")
				}

				for range 2 {
					if got := q.receive(1); bodiesOf(got) != "a" {
						t.Fatalf("received %q", bodiesOf(got))
					}
					time.Sleep(time.Second)
				}
				expect(t, "after its receives", q.bodies(1), map[string]string{"": "", ".fifo": "b"}[suffix])
				live := q.url
				q.url = dead
				m := q.receive(10)
				expect(t, "the dead letters", bodiesOf(m), "a")

				a := m[0].Attributes
				if a["ApproximateReceiveCount"] != "3" || a["SentTimestamp"] != fmt.Sprint(sent.UnixMilli()) || a["DeadLetterQueueSourceArn"] != strings.Replace(arn, "dead", "q", 1) {
					t.Errorf("attributes %v", a)
				}
				q.url = live
			})
		})
	}
}

// The retention of a dead letter counts from its first send in a standard queue, and from its move in a
// FIFO queue. The receives of its former queue count on, and the first of them stays the first.
// Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html
func TestDeadLettersAreRetained(t *testing.T) {
	for suffix, kept := range map[string]bool{"": false, ".fifo": true} {
		t.Run("queue"+suffix, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				q := newQueueing(reopen(t, dir), "dead"+suffix, map[string]string{"MessageRetentionPeriod": "60"})
				dead := q.url
				policy := `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead` + suffix + `","maxReceiveCount":1}`
				q.url = q.create("q"+suffix, map[string]string{"VisibilityTimeout": "1", "RedrivePolicy": policy})
				q.send(map[string]string{"": "a", ".fifo": "g:a"}[suffix])

				time.Sleep(30 * time.Second)
				first := q.receive(1)[0].Attributes["ApproximateFirstReceiveTimestamp"]

				time.Sleep(20 * time.Second)
				expect(t, "moved", q.bodies(1), "")

				q.url = dead

				m := q.receive(1, func(in *sqs.ReceiveMessageInput) { in.VisibilityTimeout = 1 })
				if len(m) != 1 || m[0].Attributes["ApproximateFirstReceiveTimestamp"] != first || m[0].Attributes["ApproximateReceiveCount"] != "2" {
					t.Fatalf("%+v", m)
				}

				time.Sleep(10 * time.Second)
				expect(t, "a minute after the send", q.bodies(1), map[bool]string{true: "a"}[kept])

				time.Sleep(50 * time.Second)
				expect(t, "a minute after the move", q.bodies(1), "")
			})
		})
	}
}

func TestMessagesGoInBatches(t *testing.T) {
	q := openQueue(t, "q", nil)
	entries := func(bodies ...string) (out []qtypes.SendMessageBatchRequestEntry) {
		for i, b := range bodies {
			out = append(out, qtypes.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint("e", i)), MessageBody: aws.String(b)})
		}
		return out
	}
	send := func(e []qtypes.SendMessageBatchRequestEntry) (*sqs.SendMessageBatchOutput, error) {
		return q.api.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &q.url, Entries: e})
	}

	out, err := send(entries("a", "b\x00", "c"))
	if err != nil || len(out.Successful) != 2 || len(out.Failed) != 1 || *out.Failed[0].Id != "e1" || *out.Failed[0].Code != "InvalidMessageContents" || !out.Failed[0].SenderFault {
		t.Fatalf("%+v, %v", out, err)
	}
	two := entries("a", "b")

	two[1].Id = two[0].Id
	bad := entries("a")
	bad[0].Id = aws.String("no spaces")
	for want, e := range map[string][]qtypes.SendMessageBatchRequestEntry{
		"EmptyBatchRequest":            {},
		"TooManyEntriesInBatchRequest": entries(strings.Split(strings.Repeat("x ", 11), " ")...),
		"BatchEntryIdsNotDistinct":     two,
		"InvalidBatchEntryId":          bad,
		"BatchRequestTooLong":          entries(strings.Repeat("x", 600<<10), strings.Repeat("y", 600<<10)),
	} {
		_, err := send(e)
		expect(t, want, code(err), want)
	}

	got := q.receive(10)
	var hide []qtypes.ChangeMessageVisibilityBatchRequestEntry
	remove := []qtypes.DeleteMessageBatchRequestEntry{{Id: aws.String("bad"), ReceiptHandle: aws.String("void")}}
	for i, m := range got {
		hide = append(hide, qtypes.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 60})
		remove = append(remove, qtypes.DeleteMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle})
	}

	hidden, err := q.api.ChangeMessageVisibilityBatch(t.Context(), &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.url, Entries: hide})
	if err != nil || len(hidden.Successful) != 2 {
		t.Errorf("%+v, %v", hidden, err)
	}

	deleted, err := q.api.DeleteMessageBatch(t.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: &q.url, Entries: remove})
	if err != nil || len(deleted.Successful) != 2 || len(deleted.Failed) != 1 || *deleted.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("%+v, %v", deleted, err)
	}
	expect(t, "counts", q.counts(), "0 0 0")
}

func TestQueuesAreCreatedFoundAndDeleted(t *testing.T) {
	q := openQueue(t, "q-1", map[string]string{"VisibilityTimeout": "7"})
	if again := q.create("q-1", map[string]string{"VisibilityTimeout": "7"}); again != q.url {
		t.Errorf("another URL %s", again)
	}
	create := func(name string, attributes map[string]string) error {
		_, err := q.api.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
		return err
	}
	expect(t, "other attributes", code(create("q-1", map[string]string{"VisibilityTimeout": "8"})), "QueueAlreadyExists")
	expect(t, "a bad name", code(create("a b", nil)), "InvalidParameterValue")
	expect(t, "a FIFO name for a standard queue", code(create("a.fifo", nil)), "InvalidParameterValue")
	expect(t, "out of bounds", code(create("a", map[string]string{"DelaySeconds": "901"})), "InvalidAttributeValue")
	expect(t, "an unknown attribute", code(create("a", map[string]string{"Hue": "red"})), "InvalidAttributeName")
	expect(t, "a FIFO queue's attribute", code(create("a", map[string]string{"ContentBasedDeduplication": "true"})), "InvalidAttributeName")
	expect(t, "dead letters nowhere", code(create("a", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:none","maxReceiveCount":3}`})), "InvalidParameterValue")
	q.create("q-2", nil)
	q.create("other", nil)

	list, err := q.api.ListQueues(t.Context(), &sqs.ListQueuesInput{QueueNamePrefix: aws.String("q-"), MaxResults: aws.Int32(1)})
	if err != nil || len(list.QueueUrls) != 1 || list.NextToken == nil {
		t.Fatalf("%+v, %v", list, err)
	}

	list, err = q.api.ListQueues(t.Context(), &sqs.ListQueuesInput{QueueNamePrefix: aws.String("q-"), NextToken: list.NextToken})
	if err != nil || len(list.QueueUrls) != 1 || !strings.HasSuffix(list.QueueUrls[0], "/q-2") || list.NextToken != nil {
		t.Errorf("%+v, %v", list, err)
	}

	if _, err := q.api.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &q.url, Attributes: map[string]string{"VisibilityTimeout": "9"}}); err != nil {
		t.Fatal(err)
	}

	got, err := q.api.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: []qtypes.QueueAttributeName{"VisibilityTimeout", "QueueArn", "RedrivePolicy"}})
	if want := map[string]string{"VisibilityTimeout": "9", "QueueArn": "arn:aws:sqs:us-east-1:000000000000:q-1"}; err != nil || !maps.Equal(got.Attributes, want) {
		t.Errorf("attributes %v, %v", got.Attributes, err)
	}
	q.send("a", "b")

	if _, err := q.api.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &q.url}); err != nil {
		t.Fatal(err)
	}
	expect(t, "purged", q.counts(), "0 0 0")

	if _, err := q.api.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &q.url}); err != nil {
		t.Fatal(err)
	}
	_, err = q.api.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("q-1")})
	expect(t, "a queue that is gone", code(err), "NonExistentQueue")
	as[*qtypes.QueueDoesNotExist](t, err)
	_, err = q.api.StartMessageMoveTask(t.Context(), &sqs.StartMessageMoveTaskInput{SourceArn: aws.String("arn:aws:sqs:us-east-1:000000000000:q-1")})
	expect(t, "an unsupported operation", code(err), "UnknownOperationException")
}

// Of the attributes of a queue only those in the request are checked: the dead-letter queue of the others
// may be gone. Throughput per group needs deduplication per group, by this request or before.
func TestAttributesAreSet(t *testing.T) {
	q := openQueue(t, "dead", nil)
	dead := q.url
	policy := `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":3}`
	q.url = q.create("q", map[string]string{"RedrivePolicy": policy})

	if _, err := q.api.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &dead}); err != nil {
		t.Fatal(err)
	}

	set := func(attributes map[string]string) string {
		_, err := q.api.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &q.url, Attributes: attributes})
		return code(err)
	}
	expect(t, "another attribute", set(map[string]string{"VisibilityTimeout": "9"}), "<nil>")
	expect(t, "the policy", set(map[string]string{"RedrivePolicy": policy}), "InvalidParameterValue")
	expect(t, "no policy", set(map[string]string{"RedrivePolicy": ""}), "<nil>")

	q.url = q.create("q.fifo", nil)
	perGroup := map[string]string{"FifoThroughputLimit": "perMessageGroupId"}
	expect(t, "throughput per group", set(perGroup), "InvalidAttributeValue")
	expect(t, "deduplication per group", set(map[string]string{"DeduplicationScope": "messageGroup"}), "<nil>")
	expect(t, "both", set(perGroup), "<nil>")
	expect(t, "the one without the other", set(map[string]string{"DeduplicationScope": "queue"}), "InvalidAttributeValue")

	_, err := q.api.CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName:  aws.String("new.fifo"),
		Attributes: map[string]string{"FifoQueue": "true", "FifoThroughputLimit": "perMessageGroupId"},
	})
	expect(t, "a new queue", code(err), "InvalidAttributeValue")
}

func TestMessagesAreRefused(t *testing.T) {
	q := openQueue(t, "q", map[string]string{"MaximumMessageSize": "1024"})
	fifo := q.create("q.fifo", nil)
	text := func(s string) qtypes.MessageAttributeValue {
		return qtypes.MessageAttributeValue{DataType: aws.String("String"), StringValue: &s}
	}
	for _, c := range []struct {
		name, code string
		in         sqs.SendMessageInput
	}{
		{"too long", "InvalidParameterValue", sqs.SendMessageInput{MessageBody: aws.String(strings.Repeat("x", 1025))}},
		{"too long with its attributes", "InvalidParameterValue", sqs.SendMessageInput{MessageBody: aws.String(strings.Repeat("x", 1020)), MessageAttributes: map[string]qtypes.MessageAttributeValue{"n": text("v")}}},
		{"characters that XML has not", "InvalidMessageContents", sqs.SendMessageInput{MessageBody: aws.String("\x01")}},
		{"an empty body", "MissingParameter", sqs.SendMessageInput{MessageBody: aws.String("")}},
		{"a delay out of bounds", "InvalidParameterValue", sqs.SendMessageInput{MessageBody: aws.String("a"), DelaySeconds: 901}},
		{"a reserved attribute", "InvalidParameterValue", sqs.SendMessageInput{MessageBody: aws.String("a"), MessageAttributes: map[string]qtypes.MessageAttributeValue{"AWS.x": text("v")}}},
		{"an attribute without a value", "InvalidParameterValue", sqs.SendMessageInput{MessageBody: aws.String("a"), MessageAttributes: map[string]qtypes.MessageAttributeValue{"x": text("")}}},
		{"a number that is none", "InvalidParameterValue", sqs.SendMessageInput{MessageBody: aws.String("a"), MessageAttributes: map[string]qtypes.MessageAttributeValue{"x": {DataType: aws.String("Number.int"), StringValue: aws.String("one")}}}},
		{"a deduplication id on a standard queue", "InvalidParameterValue", sqs.SendMessageInput{MessageBody: aws.String("a"), MessageDeduplicationId: aws.String("d")}},
		{"no group on a FIFO queue", "MissingParameter", sqs.SendMessageInput{QueueUrl: &fifo, MessageBody: aws.String("a"), MessageDeduplicationId: aws.String("d")}},
		{"no deduplication on a FIFO queue", "InvalidParameterValue", sqs.SendMessageInput{QueueUrl: &fifo, MessageBody: aws.String("a"), MessageGroupId: aws.String("g")}},
		{"a delay on a FIFO queue", "InvalidParameterValue", sqs.SendMessageInput{QueueUrl: &fifo, MessageBody: aws.String("a"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("d"), DelaySeconds: 1}},
		{"no such queue", "NonExistentQueue", sqs.SendMessageInput{QueueUrl: aws.String("http://x/0/none"), MessageBody: aws.String("a")}},
	} {
		if c.in.QueueUrl == nil {
			c.in.QueueUrl = &q.url
		}
		_, err := q.api.SendMessage(t.Context(), &c.in)
		expect(t, c.name, code(err), c.code)
	}
	_, err := q.api.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &q.url, MaxNumberOfMessages: 11})
	expect(t, "more than ten", code(err), "InvalidParameterValue")
}

// TestAttributesAndDigests uses a socket, because only then does the SDK check the digests of
// bodies.
func TestAttributesAndDigests(t *testing.T) {
	f := open(t)
	web := httptest.NewServer(f.Handler())
	defer web.Close()
	q := newQueueing(f, "q", nil)
	q.api = sqs.NewFromConfig(overHTTP(web))
	in := &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String("häβ\n😀"), MessageGroupId: aws.String("fair"),
		MessageAttributes: map[string]qtypes.MessageAttributeValue{
			"city":  {DataType: aws.String("String"), StringValue: aws.String("Any City")},
			"count": {DataType: aws.String("Number.int"), StringValue: aws.String("3")},
			"blob":  {DataType: aws.String("Binary"), BinaryValue: []byte{0, 1, 2}},
		},
		MessageSystemAttributes: map[string]qtypes.MessageSystemAttributeValue{"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1")}}}

	out, err := q.api.SendMessage(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}

	m := q.receive(1)[0]
	if *m.Body != *in.MessageBody || *m.MessageId != *out.MessageId || *m.MD5OfMessageAttributes != *out.MD5OfMessageAttributes || *out.MD5OfMessageSystemAttributes == "" {
		t.Errorf("%+v", m)
	}

	if len(m.MessageAttributes) != 3 || *m.MessageAttributes["count"].StringValue != "3" || !slices.Equal(m.MessageAttributes["blob"].BinaryValue, []byte{0, 1, 2}) {
		t.Errorf("attributes %+v", m.MessageAttributes)
	}

	if m.Attributes["AWSTraceHeader"] != "Root=1" || m.Attributes["MessageGroupId"] != "fair" || m.Attributes["SenderId"] == "" {
		t.Errorf("system attributes %v", m.Attributes)
	}

	if err := q.hide(m.ReceiptHandle, 0); err != nil {
		t.Fatal(err)
	}

	m = q.receive(1, func(in *sqs.ReceiveMessageInput) {
		in.MessageAttributeNames, in.MessageSystemAttributeNames = []string{"ci.*", "blob"}, []qtypes.MessageSystemAttributeName{"SentTimestamp"}
	})[0]
	if len(m.MessageAttributes) != 2 || m.MessageAttributes["city"].DataType == nil || len(m.Attributes) != 1 {
		t.Errorf("asked for some: %v, %v", m.MessageAttributes, m.Attributes)
	}
}
