package streams

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"pgregory.net/rapid"

	"ratchet/internal/dynamo"
)

func TestLaneKeysTellItemsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab1:")), 0, 4, -1)

		key := func(a, b string) string {
			return itemKey(Record{Keys: dynamo.Item{"pk": dynamo.S(a), "sk": dynamo.S(b)}})
		}
		a1, b1, a2, b2 := text.Draw(t, "a1"), text.Draw(t, "b1"), text.Draw(t, "a2"), text.Draw(t, "b2")
		if same := a1 == a2 && b1 == b2; (key(a1, b1) == key(a2, b2)) != same {
			t.Fatalf("keys %q and %q", key(a1, b1), key(a2, b2))
		}
	})

	if k := itemKey(Record{Keys: dynamo.Item{"pk": dynamo.S("x")}}); k != "x" {
		t.Errorf("single key %q", k)
	}
}

func TestRemovalsByTimeToLiveAreToldApart(t *testing.T) {
	ttl := fromSDK(streamtypes.Record{EventName: streamtypes.OperationTypeRemove, UserIdentity: &streamtypes.Identity{
		Type: aws.String("Service"), PrincipalId: aws.String("dynamodb.amazonaws.com"),
	}, Dynamodb: &streamtypes.StreamRecord{OldImage: map[string]streamtypes.AttributeValue{"a": &streamtypes.AttributeValueMemberNULL{Value: true}}}})
	if !ttl.ExpiredByTTL() || len(ttl.Item()) != 1 {
		t.Errorf("record %+v", ttl)
	}

	if user := fromSDK(streamtypes.Record{EventName: streamtypes.OperationTypeRemove}); user.ExpiredByTTL() {
		t.Error("a caller's removal was taken for time to live")
	}
}

func TestAStreamWithoutBothImagesIsRefusedWhenTheyAreNeeded(t *testing.T) {
	w := newTestEnv(t, 1)
	w.setStream(&ddbtypes.StreamSpecification{StreamEnabled: aws.Bool(false)})
	w.setStream(&ddbtypes.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: ddbtypes.StreamViewTypeKeysOnly})
	p := w.start(w.config(newRecorder().handle, func(c *Config) { c.NeedImages = true }))
	<-p.done

	if err := p.stop(); err == nil || err.Error() != "streams: wrong view type: "+w.latest()+" has KEYS_ONLY, want NEW_AND_OLD_IMAGES" {
		t.Errorf("Run: %v", err)
	}
}

func TestUnorderedHandlersPassARecordThatIsBeingRetried(t *testing.T) {
	w := newTestEnv(t, 1)
	l := newRecorder()
	var open atomic.Bool

	p := w.start(w.config(nil, func(c *Config) {
		c.Handlers = []Handler{{Name: "h", Unordered: true, Attempts: -1, Handle: func(ctx context.Context, r Record) error {
			if _, v := keyAndVersion(r); v == 1 && !open.Load() {
				return errors.New("not yet")
			}
			return l.handle(ctx, r)
		}}}
	}))
	for v := 1; v <= 5; v++ {
		w.write("o-0", v)
	}
	w.until("the later ones are handled", func() bool { return l.count() == 4 })
	open.Store(true)
	w.until("the first is handled, too", func() bool { return l.count() == 5 })
	w.stopped(p)
}

func TestADeadLetterOfTwoLargestItemsIsKeptInParts(t *testing.T) {
	w := newTestEnv(t, 1)
	noise := func() dynamo.Item {
		b := make([]byte, 390<<10)
		_, _ = rand.Read(b)
		return dynamo.Item{"id": dynamo.S("o-1"), "noise": &ddbtypes.AttributeValueMemberB{Value: b}}
	}

	r := Record{
		StreamARN: w.arn, ShardID: "s", SequenceNumber: "7", EventName: Modify, Handler: "h", Attempt: 3,
		Keys: dynamo.Item{"id": dynamo.S("o-1")}, Old: noise(), New: noise(), CreatedAt: time.Now(),
	}
	table := &deadLetterTable{api: w.db, table: deadTable}
	ctx := context.Background()
	for range 2 { // storing twice stores once
		if err := table.store(ctx, r, errors.New("no")); err != nil {
			t.Fatal(err)
		}
	}
	dead := DeadLetters{DynamoDB: w.db, Table: deadTable}

	letters, _, err := dead.List(ctx, "h", "", 0)
	if err != nil || len(letters) != 1 || letters[0].Record != nil {
		t.Fatalf("%d letters, %v", len(letters), err)
	}

	got, err := dead.Get(ctx, "h", letters[0].ID)
	if err != nil {
		t.Fatal(err)
	}

	for name, pair := range map[string][2]dynamo.Item{"old": {r.Old, got.Record.Old}, "new": {r.New, got.Record.New}} {
		a, b := pair[0]["noise"].(*ddbtypes.AttributeValueMemberB), pair[1]["noise"].(*ddbtypes.AttributeValueMemberB)
		if string(a.Value) != string(b.Value) {
			t.Errorf("the %s image changed", name)
		}
	}

	if err := dead.Delete(ctx, "h", got.ID); err != nil {
		t.Fatal(err)
	}

	out, err := w.db.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String(deadTable)})
	if err != nil || out.Count != 0 {
		t.Errorf("%d rows left, %v", out.Count, err)
	}
}

func TestDeadLettersAreListedPageByPage(t *testing.T) {
	w := newTestEnv(t, 1)
	table := &deadLetterTable{api: w.db, table: deadTable}
	ctx := context.Background()
	for n := range 7 {
		r := Record{StreamARN: w.arn, ShardID: "s", SequenceNumber: strconv.Itoa(8 + n), Handler: "h", Keys: dynamo.Item{"id": dynamo.S("o")}}
		if err := table.store(ctx, r, errors.New("no")); err != nil {
			t.Fatal(err)
		}
	}

	dead := DeadLetters{DynamoDB: w.db, Table: deadTable}
	var seen []string
	for after, first := "", true; first || after != ""; first = false {
		letters, next, err := dead.List(ctx, "h", after, 3)
		if err != nil {
			t.Fatal(err)
		}

		for _, l := range letters {
			seen = append(seen, l.Record.SequenceNumber)
		}
		after = next
	}

	if len(seen) != 7 || seen[0] != "8" || seen[6] != "14" {
		t.Errorf("listed %v", seen)
	}
}
