package embedded

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	stypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// shards returns all shards of a stream, read page by page.
func (f *fixture) shards(arn string) (all []stypes.Shard) {
	f.t.Helper()

	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &arn}
	for {
		out, err := f.str.DescribeStream(context.Background(), in)
		if err != nil {
			f.t.Fatal(err)
		}

		all = append(all, out.StreamDescription.Shards...)
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return all
		}
	}
}

func (f *fixture) iterator(arn string, shard *string, kind stypes.ShardIteratorType, seq *string) *string {
	f.t.Helper()

	out, err := f.str.GetShardIterator(context.Background(), &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: shard, ShardIteratorType: kind, SequenceNumber: seq,
	})
	if err != nil {
		f.t.Fatal(err)
	}

	return out.ShardIterator
}

func (f *fixture) records(it *string) ([]stypes.Record, *string) {
	f.t.Helper()

	out, err := f.str.GetRecords(context.Background(), &dynamodbstreams.GetRecordsInput{ShardIterator: it})
	if err != nil {
		f.t.Fatal(err)
	}

	return out.Records, out.NextShardIterator
}

func as[E error](t *testing.T, err error) E {
	t.Helper()

	var e E
	if !errors.As(err, &e) {
		t.Fatalf("error is %v, want %T", err, e)
	}

	return e
}

func TestViewTypes(t *testing.T) {
	for _, view := range types.StreamViewType("").Values() {
		t.Run(string(view), func(t *testing.T) {
			f := open(t)
			arn := *f.table("orders", "id", "", view).LatestStreamArn
			f.put("orders", item{"id": str("o-1"), "v": num("1")})
			f.put("orders", item{"id": str("o-1"), "v": num("1")}) // changes nothing: no record
			f.put("orders", item{"id": str("o-1"), "v": num("2")})

			if _, err := f.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("orders"), Key: item{"id": str("o-1")}}); err != nil {
				t.Fatal(err)
			}

			got, next := f.records(f.iterator(arn, f.shards(arn)[0].ShardId, stypes.ShardIteratorTypeTrimHorizon, nil))
			if len(got) != 3 || next == nil {
				t.Fatalf("%d records, next %v; want 3 and a next iterator", len(got), next)
			}

			for i, want := range []stypes.OperationType{"INSERT", "MODIFY", "REMOVE"} {
				d := got[i].Dynamodb
				if got[i].EventName != want || d.StreamViewType != stypes.StreamViewType(view) || d.Keys == nil || *d.SizeBytes == 0 {
					t.Errorf("record %d: %+v", i, got[i])
				}

				wantNew := (view == "NEW_IMAGE" || view == "NEW_AND_OLD_IMAGES") && want != "REMOVE"
				wantOld := (view == "OLD_IMAGE" || view == "NEW_AND_OLD_IMAGES") && want != "INSERT"
				if (d.NewImage != nil) != wantNew || (d.OldImage != nil) != wantOld {
					t.Errorf("%s record has new image %v, old image %v", want, d.NewImage != nil, d.OldImage != nil)
				}
			}
		})
	}
}

// TestIteratorTypes reads from every kind of starting point.
func TestIteratorTypes(t *testing.T) {
	f := open(t)

	arn := *f.table("orders", "id", "", types.StreamViewTypeKeysOnly).LatestStreamArn
	shard := f.shards(arn)[0].ShardId
	latest := f.iterator(arn, shard, stypes.ShardIteratorTypeLatest, nil)
	for i := range 5 {
		f.put("orders", item{"id": str(fmt.Sprint(i))})
	}

	all, _ := f.records(f.iterator(arn, shard, stypes.ShardIteratorTypeTrimHorizon, nil))
	if len(all) != 5 {
		t.Fatalf("%d records from the horizon, want 5", len(all))
	}

	third := all[2].Dynamodb.SequenceNumber
	for _, c := range []struct {
		kind stypes.ShardIteratorType
		it   *string
		want int
	}{
		{"latest before the records", latest, 5},
		{"latest after them", f.iterator(arn, shard, stypes.ShardIteratorTypeLatest, nil), 0},
		{"at the third", f.iterator(arn, shard, stypes.ShardIteratorTypeAtSequenceNumber, third), 3},
		{"after the third", f.iterator(arn, shard, stypes.ShardIteratorTypeAfterSequenceNumber, third), 2},
	} {
		if got, next := f.records(c.it); len(got) != c.want || next == nil {
			t.Errorf("%s: %d records (next %v), want %d", c.kind, len(got), next != nil, c.want)
		}
	}

	_, err := f.str.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: shard, ShardIteratorType: stypes.ShardIteratorTypeAfterSequenceNumber,
		SequenceNumber: aws.String("199999999999999999999"),
	})
	if err == nil {
		t.Error("a sequence number the shard never had is accepted")
	}
	_, err = f.str.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: aws.String("shardId-00000000000000000000-00000000"), ShardIteratorType: stypes.ShardIteratorTypeLatest,
	})
	as[*stypes.ResourceNotFoundException](t, err)
}

// TestAtTimestamp, TestIteratorExpires and TestSchedule run the engine in a synctest bubble,
// where days pass at once.
func TestAtTimestamp(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := reopen(t, dir)
		arn := *f.table("orders", "id", "", types.StreamViewTypeKeysOnly).LatestStreamArn
		shard := f.shards(arn)[0].ShardId
		start := time.Now()

		for i := range 4 {
			f.put("orders", item{"id": str(fmt.Sprint(i))})
			time.Sleep(250 * time.Millisecond)
		}

		at := func(d time.Duration) (*dynamodbstreams.GetShardIteratorOutput, error) {
			return f.str.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
				StreamArn: &arn, ShardId: shard, ShardIteratorType: stypes.ShardIteratorTypeAtTimestamp, Timestamp: aws.Time(start.Add(d)),
			})
		}
		for d, want := range map[time.Duration]int{-time.Hour: 4, 0: 4, time.Millisecond: 3, 250 * time.Millisecond: 3, 501 * time.Millisecond: 1, 751 * time.Millisecond: 0} {
			out, err := at(d)
			if err != nil {
				t.Fatal(err)
			}

			if got, _ := f.records(out.ShardIterator); len(got) != want {
				t.Errorf("at start%+v: %d records, want %d", d, len(got), want)
			}
		}

		if _, err := at(time.Hour); err == nil {
			t.Error("a time in the future is accepted")
		}
	})
}

func TestIteratorExpires(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := reopen(t, dir)
		arn := *f.table("orders", "id", "", types.StreamViewTypeKeysOnly).LatestStreamArn
		it := f.iterator(arn, f.shards(arn)[0].ShardId, stypes.ShardIteratorTypeTrimHorizon, nil)
		time.Sleep(15 * time.Minute)
		f.records(it)
		time.Sleep(time.Second)
		_, err := f.str.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: it})
		as[*stypes.ExpiredIteratorException](t, err)
	})
}

// TestSchedule runs two days of a stream's life: shards roll every four hours, records and
// closed shards are removed after a day, a disabled stream a day after that. In short mode an hour
// takes a minute.
func TestSchedule(t *testing.T) {
	t.Parallel()

	hour, cfg := time.Hour, Config{}
	if testing.Short() {
		hour, cfg.Streams.RollEvery, cfg.Streams.Retention = time.Minute, 4*time.Minute, 24*time.Minute
	}

	synctest.Test(t, func(t *testing.T) {
		e, err := OpenInMemory(cfg)
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})

		f := newFixture(t, e)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- f.Run(ctx) }()
		arn := *f.table("orders", "id", "", types.StreamViewTypeKeysOnly).LatestStreamArn
		first := f.shards(arn)[0].ShardId
		f.put("orders", item{"id": str("early")})
		time.Sleep(4*hour + hour/2)

		if all := f.shards(arn); len(all) != 2 || *all[1].ParentShardId != *first || all[0].SequenceNumberRange.EndingSequenceNumber == nil {
			t.Fatalf("after four hours: %+v", all)
		}
		time.Sleep(18*hour + hour/2)

		old := f.iterator(arn, first, stypes.ShardIteratorTypeTrimHorizon, nil)
		if got, next := f.records(old); len(got) != 1 || next != nil {
			t.Fatalf("closed shard after 23 h: %d records, next %v; want its one record and the end", len(got), next)
		}
		time.Sleep(6 * hour)

		all := f.shards(arn)
		if len(all) < 6 || len(all) > 8 || *all[0].ShardId == *first {
			t.Fatalf("after 29 h there are %d shards, first gone: %v", len(all), *all[0].ShardId != *first)
		}
		_, err = f.str.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &arn, ShardId: first, ShardIteratorType: stypes.ShardIteratorTypeTrimHorizon,
		})
		as[*stypes.ResourceNotFoundException](t, err)

		// A disabled stream stays readable for a day, then it is gone.
		if _, err := f.db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: aws.String("orders"),
			StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(23 * hour)

		out, err := f.str.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
		if err != nil || out.StreamDescription.StreamStatus != stypes.StreamStatusDisabled {
			t.Fatalf("disabled stream: %+v, %v", out, err)
		}
		time.Sleep(2 * hour)
		_, err = f.str.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
		as[*stypes.ResourceNotFoundException](t, err)
		stop()

		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// TestStreamOrderUnderReshaping writes from many goroutines while shards roll and split, and
// reads all shards, parents first. Every change must be there once, and the changes of each
// item in order.
func TestStreamOrderUnderReshaping(t *testing.T) {
	t.Parallel()
	const writers, items = 16, 64

	writes := 60
	if testing.Short() {
		writes = 15
	}

	f := open(t, func(c *Config) { c.Streams.InitialShards = 3 })
	arn := *f.table("orders", "id", "", types.StreamViewTypeNewImage).LatestStreamArn
	ctx, stop := context.WithCancel(t.Context())
	var shaping sync.WaitGroup
	shaping.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			var err error
			if all := f.shards(arn); i%2 == 0 || len(all) > 150 {
				err = f.RollShards(context.Background(), arn)
			} else {
				for _, sh := range all {
					if sh.SequenceNumberRange.EndingSequenceNumber == nil {
						err = f.SplitShard(context.Background(), arn, *sh.ShardId)
						break
					}
				}
			}

			if err != nil {
				t.Error(err)
				return
			}
		}
	})

	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range writes {
				for i := w; i < items; i += writers {
					f.put("orders", item{"id": str(fmt.Sprintf("o-%d", i)), "n": num(fmt.Sprint(n + 1))})
				}
			}
		})
	}
	wg.Wait()
	stop()
	shaping.Wait()

	seen, last := map[string]int{}, ""
	f.readForest(arn, func(r stypes.Record) {
		id, n := r.Dynamodb.Keys["id"].(*stypes.AttributeValueMemberS).Value, 0
		if _, err := fmt.Sscan(r.Dynamodb.NewImage["n"].(*stypes.AttributeValueMemberN).Value, &n); err != nil {
			t.Fatal(err)
		}

		if n != seen[id]+1 {
			t.Fatalf("%s: change %d follows change %d", id, n, seen[id])
		}
		seen[id] = n
		last = *r.Dynamodb.SequenceNumber
	})

	if len(seen) != items || last == "" {
		t.Fatalf("%d items seen, want %d", len(seen), items)
	}

	for id, n := range seen {
		if n != writes {
			t.Errorf("%s: %d changes, want %d", id, n, writes)
		}
	}
	f.checkForest(arn)
}

// checkForest checks that every child begins after the end of its parent.
func (f *fixture) checkForest(arn string) {
	f.t.Helper()

	all := f.shards(arn)
	ends := map[string]string{}
	for _, sh := range all {
		if end := sh.SequenceNumberRange.EndingSequenceNumber; end != nil {
			ends[*sh.ShardId] = *end
		}
	}

	for _, sh := range all {
		if sh.ParentShardId == nil {
			continue
		}

		if end, closed := ends[*sh.ParentShardId]; !closed || end >= *sh.SequenceNumberRange.StartingSequenceNumber {
			f.t.Errorf("shard %s starts at %s, its parent %s ends at %q", *sh.ShardId, *sh.SequenceNumberRange.StartingSequenceNumber, *sh.ParentShardId, end)
		}
	}
}

// readForest reads every shard to its end or tip, parents before children.
func (f *fixture) readForest(arn string, see func(stypes.Record)) {
	f.t.Helper()
	all := f.shards(arn)
	done := map[string]bool{}

	known := map[string]bool{}
	for _, sh := range all {
		known[*sh.ShardId] = true
	}

	for len(done) < len(all) {
		for _, sh := range all {
			if done[*sh.ShardId] || sh.ParentShardId != nil && known[*sh.ParentShardId] && !done[*sh.ParentShardId] {
				continue
			}

			done[*sh.ShardId] = true
			last := ""
			for it := f.iterator(arn, sh.ShardId, stypes.ShardIteratorTypeTrimHorizon, nil); it != nil; {
				got, next := f.records(it)
				for _, r := range got {
					if *r.Dynamodb.SequenceNumber <= last {
						f.t.Fatalf("sequence %s follows %s", *r.Dynamodb.SequenceNumber, last)
					}
					last = *r.Dynamodb.SequenceNumber
					see(r)
				}

				if len(got) == 0 && sh.SequenceNumberRange.EndingSequenceNumber == nil {
					break
				}
				it = next
			}
		}
	}
}

func TestTrimOnCommand(t *testing.T) {
	f := open(t)

	arn := *f.table("orders", "id", "", types.StreamViewTypeKeysOnly).LatestStreamArn
	shard := f.shards(arn)[0].ShardId
	horizon := f.iterator(arn, shard, stypes.ShardIteratorTypeTrimHorizon, nil)
	for i := range 4 {
		f.put("orders", item{"id": str(fmt.Sprint(i))})
	}

	all, tip := f.records(horizon)
	second := all[1].Dynamodb.SequenceNumber
	stale := f.iterator(arn, shard, stypes.ShardIteratorTypeAtSequenceNumber, second)
	if err := f.TrimStream(t.Context(), arn, TrimPoint{SequenceNumber: *all[2].Dynamodb.SequenceNumber}); err != nil {
		t.Fatal(err)
	}

	if got, _ := f.records(horizon); len(got) != 2 {
		t.Errorf("%d records from the horizon after trimming two of four", len(got))
	}
	_, err := f.str.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: stale})
	as[*stypes.TrimmedDataAccessException](t, err)
	_, err = f.str.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: shard, ShardIteratorType: stypes.ShardIteratorTypeAtSequenceNumber, SequenceNumber: second,
	})
	as[*stypes.TrimmedDataAccessException](t, err)
	// No record after the second one is missing, so a consumer that has read the second one
	// can continue.
	if got, _ := f.records(f.iterator(arn, shard, stypes.ShardIteratorTypeAfterSequenceNumber, second)); len(got) != 2 {
		t.Errorf("%d records behind the last trimmed one, want 2", len(got))
	}

	if err := f.RollShards(t.Context(), arn); err != nil {
		t.Fatal(err)
	}

	if err := f.TrimStream(t.Context(), arn, TrimPoint{}); err != nil {
		t.Fatal(err)
	}

	left := f.shards(arn)
	if len(left) != 1 || *left[0].ParentShardId != *shard {
		t.Fatalf("shards after trimming everything: %+v", left)
	}
	_, err = f.str.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: tip})
	as[*stypes.TrimmedDataAccessException](t, err)
	_, err = f.str.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: aws.String(arn + "x")})
	as[*stypes.ResourceNotFoundException](t, err)
}

func TestDescribeStreamPagesAndChildren(t *testing.T) {
	f := open(t, func(c *Config) { c.Streams.InitialShards = 120 })
	arn := *f.table("orders", "id", "", types.StreamViewTypeKeysOnly).LatestStreamArn
	if err := f.RollShards(t.Context(), arn); err != nil {
		t.Fatal(err)
	}

	all := f.shards(arn)
	if len(all) != 240 {
		t.Fatalf("%d shards, want 240", len(all))
	}

	one, err := f.str.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
	if err != nil || len(one.StreamDescription.Shards) != 100 {
		t.Fatalf("first page: %d shards, %v", len(one.StreamDescription.Shards), err)
	}

	out, err := f.str.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn,
		ShardFilter: &stypes.ShardFilter{Type: stypes.ShardFilterTypeChildShards, ShardId: all[0].ShardId}})
	if err != nil || len(out.StreamDescription.Shards) != 1 || *out.StreamDescription.Shards[0].ParentShardId != *all[0].ShardId {
		t.Fatalf("children of the first shard: %+v, %v", out, err)
	}
}

// TestReenabledStream: the new stream has another ARN, and the old one stays readable.
func TestReenabledStream(t *testing.T) {
	f := open(t)
	arn := *f.table("orders", "id", "", types.StreamViewTypeKeysOnly).LatestStreamArn
	f.put("orders", item{"id": str("1")})

	turn := func(spec types.StreamSpecification) *types.TableDescription {
		out, err := f.db.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String("orders"), StreamSpecification: &spec})
		if err != nil {
			t.Fatal(err)
		}

		return out.TableDescription
	}
	if d := turn(types.StreamSpecification{StreamEnabled: aws.Bool(false)}); d.StreamSpecification != nil {
		t.Error("a disabled stream is still described as enabled")
	}
	f.put("orders", item{"id": str("2")})
	again := *turn(types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeKeysOnly}).LatestStreamArn
	f.put("orders", item{"id": str("3")})

	if again == arn {
		t.Fatal("the re-enabled stream has the old ARN")
	}

	for name, want := range map[string]string{arn: "1", again: "3"} {
		var got []string
		f.readForest(name, func(r stypes.Record) {
			got = append(got, r.Dynamodb.Keys["id"].(*stypes.AttributeValueMemberS).Value)
		})

		if len(got) != 1 || got[0] != want {
			t.Errorf("stream %s holds %v, want %s", name, got, want)
		}
	}

	list, err := f.str.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{TableName: aws.String("orders")})
	if err != nil || len(list.Streams) != 2 {
		t.Errorf("streams: %+v, %v", list, err)
	}
}

// TestWatchStream: a hint follows every write that makes a record.
func TestWatchStream(t *testing.T) {
	f := open(t)
	arn := *f.table("orders", "id", "", types.StreamViewTypeKeysOnly).LatestStreamArn

	hints, stop, err := f.WatchStream(arn)
	if err != nil {
		t.Fatal(err)
	}

	it := f.iterator(arn, f.shards(arn)[0].ShardId, stypes.ShardIteratorTypeTrimHorizon, nil)
	for i := range 3 {
		f.put("orders", item{"id": str(fmt.Sprint(i))})
		<-hints

		var got []stypes.Record
		if got, it = f.records(it); len(got) != 1 {
			t.Fatalf("%d records behind the hint, want 1", len(got))
		}
	}
	stop()
	f.put("orders", item{"id": str("unwatched")})

	select {
	case <-hints:
		t.Error("a hint after the end of the watch")
	default:
	}

	if _, _, err := f.WatchStream("arn:nothing"); err == nil {
		t.Error("a stream that does not exist can be watched")
	}
}

// TestIteratorsThatTheServiceRefuses: a position beside TRIM_HORIZON or LATEST, and names that are no ARN of a
// stream. A suite whose expectations were checked on AWS expects a ValidationException; the words are not recorded,
// but for the length, which the API model has.
func TestIteratorsThatTheServiceRefuses(t *testing.T) {
	f := open(t)
	arn := *f.table("orders", "id", "", types.StreamViewTypeKeysOnly).LatestStreamArn
	shard := *f.shards(arn)[0].ShardId

	for _, row := range []struct{ arn, kind, sequence, want string }{
		{arn, "TRIM_HORIZON", "", ""},
		{arn, "TRIM_HORIZON", `,"SequenceNumber":"100000000000000000000"`, "ValidationException"},
		{arn, "LATEST", `,"SequenceNumber":"100000000000000000000"`, "ValidationException"},
		{"nothing", "LATEST", "", "ValidationException"},
		{"arn:aws:dynamodb:us-east-1:000000000000:table/orders", "LATEST", "", "ValidationException"},
		{strings.TrimSuffix(arn, "0") + "x", "LATEST", "", "ResourceNotFoundException"},
	} {
		_, answer := post(t, f.HTTPClient(), "http://engine/", "DynamoDBStreams_20120810.GetShardIterator",
			`{"StreamArn":"`+row.arn+`","ShardId":"`+shard+`","ShardIteratorType":"`+row.kind+`"`+row.sequence+`}`)

		got, _ := answer["__type"].(string)
		if _, name, _ := strings.Cut(got, "#"); name != row.want {
			t.Errorf("%s of %s%s: %v, want %s", row.kind, row.arn, row.sequence, answer, row.want)
		}
	}
}
