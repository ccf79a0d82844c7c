package sqs

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The digests were returned by AWS.
// Source: https://github.com/getmoto/moto (tests/test_sqs/test_sqs.py).
func TestAttributesDigest(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{name: "timestamp", value: "1493147359900", want: "235c5c510d26fb653d073faed50ae77c"},
		{name: "timestamp", value: "1493147359901", want: "994258b45346a2cc3f9cbb611aa7af30"},
		{name: "SOME_Valid.attribute-Name", value: "1493147359900", want: "36655e7e9d7c0e8479fa3f3f42247ae7"},
	} {
		if got := attributesDigest(map[string]attribute{c.name: {DataType: "Number", StringValue: &c.value}}); got != c.want {
			t.Errorf("%s = %s: %s, want %s", c.name, c.value, got, c.want)
		}
	}
}

func openService(t *testing.T) *Service {
	t.Helper()

	db, err := store.Open(store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })

	s, err := New(db, Config{Region: "us-east-1", AccountID: "000000000000"})
	if err != nil {
		t.Fatal(err)
	}

	return s
}

func (s *Service) must(t *testing.T, operation, body string) any {
	t.Helper()

	out, err := s.Wire().Operations[operation](t.Context(), []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", operation, err)
	}

	return out
}

// At the quota of messages in flight a standard queue fails and a FIFO queue returns no
// messages.
func TestTooManyInFlight(t *testing.T) {
	s := openService(t)
	s.maxInFlight = 3
	for _, c := range []struct{ name, attributes, group string }{
		{name: "q", attributes: `{}`, group: ``},
		{
			name:       "q.fifo",
			attributes: `{"FifoQueue":"true"}`,
			group:      `"MessageGroupId":"g%","MessageDeduplicationId":"d%",`,
		},
	} {
		s.must(t, "CreateQueue", `{"QueueName":"`+c.name+`","Attributes":`+c.attributes+`}`)

		for _, n := range []string{"1", "2", "3", "4"} {
			group := strings.ReplaceAll(c.group, "%", n)
			s.must(t, "SendMessage", `{"QueueUrl":"http://x/0/`+c.name+`",`+group+`"MessageBody":"b"}`)
		}

		receive := `{"QueueUrl":"http://x/0/` + c.name + `","MaxNumberOfMessages":10}`
		if got := s.must(t, "ReceiveMessage", receive).(receiveAnswer); len(got.Messages) != 3 {
			t.Errorf("%s: %d messages", c.name, len(got.Messages))
		}

		out, err := s.Wire().Operations["ReceiveMessage"](t.Context(), []byte(receive))
		var refused *wire.Error
		if c.group == "" && (!errors.As(err, &refused) || refused.Type != "OverLimit") {
			t.Errorf("%s: %v, %v, want OverLimit", c.name, out, err)
		}

		if c.group != "" && (err != nil || len(out.(receiveAnswer).Messages) != 0) {
			t.Errorf("%s: %v, %v, want no messages", c.name, out, err)
		}
	}
}

// A sweep removes messages past the retention from the disk.
func TestSweep(t *testing.T) {
	s := openService(t)
	s.must(t, "CreateQueue", `{"QueueName":"q"}`)
	s.must(t, "SendMessage", `{"QueueUrl":"q","MessageBody":"b"}`)

	left := func() (n int) {
		count := func(_, _ []byte) (bool, error) { n++; return true, nil }
		if err := s.db.Scan([]byte{store.PrefixSQS}, []byte{store.PrefixSQS + 1}, false, count); err != nil {
			t.Fatal(err)
		}

		return n
	}
	if n := left(); n != 3 {
		t.Fatalf("%d records: want the queue, a content and a state", n)
	}

	if err := s.sweep(time.Now().Add(4 * 24 * time.Hour)); err != nil {
		t.Fatal(err)
	}

	if n := left(); n != 1 {
		t.Errorf("%d records are left, want the queue", n)
	}
}

// A queue that is deleted leaves nothing on the disk.
func TestADeletedQueueLeavesNothing(t *testing.T) {
	s := openService(t)
	s.must(t, "CreateQueue", `{"QueueName":"q.fifo","Attributes":{"FifoQueue":"true"}}`)
	s.must(t, "SendMessage", `{"QueueUrl":"http://x/q.fifo","MessageBody":"a","MessageGroupId":"g","MessageDeduplicationId":"d"}`)
	s.must(t, "DeleteQueue", `{"QueueUrl":"http://x/q.fifo"}`)

	all := []byte{store.PrefixSQS}
	if err := s.db.Scan(all, store.PrefixEnd(all), false, func(k, _ []byte) (bool, error) {
		t.Errorf("key %q is left", k)
		return true, nil
	}); err != nil {
		t.Error(err)
	}
}
