package streams

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Attributes of a lease item; doc.go explains them.
const (
	leaseStream     = "stream"
	leaseShard      = "shardId"
	leaseParent     = "parent"
	leaseParentDone = "parentDone"
	leaseOwner      = "owner"
	leaseEpoch      = "epoch"
	leaseCounter    = "counter"
	leaseCheckpoint = "checkpoint"
	leaseHandledAt  = "handledAt"
	leaseStartAt    = "startAt"
	leaseAtHorizon  = "atHorizon"
	leaseWanted     = "wanted"
	leaseFinished   = "finishedAt"
	leaseGaps       = "gaps"
	leaseGapFrom    = "gapFrom"
	leaseGapAt      = "gapAt"
)

// Lease is the stored state of one shard: who reads it and how far it has been
// handled.
type Lease struct {
	Stream, Shard string
	// Parent is the shard that this one continues, "" for none. ParentDone says
	// that the parent needs no waiting for.
	Parent     string
	ParentDone bool
	// Owner holds the lease, "" when it is free. Epoch grows with every owner,
	// Counter with every write.
	Owner          string
	Epoch, Counter int64
	// Checkpoint is the last sequence number up to which every record is finished,
	// "" when none is; HandledAt is when that record was created.
	Checkpoint string
	HandledAt  time.Time
	// StartAt is where reading starts while there is no checkpoint; zero means at
	// the oldest record.
	StartAt time.Time
	// AtHorizon marks a shard of the first listing under TrimHorizon: whatever is
	// left of it is all that was asked for, and what is not is no gap.
	AtHorizon bool
	// Wanted names the worker that asked to have the lease handed over.
	Wanted string
	// FinishedAt is when the shard had been handled to its end; zero before.
	FinishedAt time.Time
	// Gaps counts how often records were trimmed unread; GapFrom and GapAt tell
	// of the last time.
	Gaps    int64
	GapFrom string
	GapAt   time.Time
}

// Finished reports whether the shard has been handled to its end.
func (l Lease) Finished() bool { return !l.FinishedAt.IsZero() }

// queryAPI is what reading leases and dead letters takes.
type queryAPI interface {
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// ReadLeases returns all leases of a stream, strongly consistent, in the order
// of the shards' ids. It is for people and tools; it changes nothing.
func ReadLeases(ctx context.Context, client queryAPI, table, streamARN string) ([]Lease, error) {
	leases, _, err := queryLeases(ctx, client, table, streamARN)
	return leases, err
}

// CurrentStream returns the ARN of the stream that pollers of tableName have
// been reading last, "" when none has.
func CurrentStream(ctx context.Context, client dynamoAPI, leaseTable, tableName string) (string, error) {
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(leaseTable), ConsistentRead: aws.Bool(true),
		Key: leaseKey(currentPrefix+tableName, currentRow),
	})
	if err != nil {
		return "", fmt.Errorf("streams: read the current stream of %s: %w", tableName, err)
	}

	return str(out.Item, currentARN), nil
}

func queryLeases(ctx context.Context, client queryAPI, table, stream string) (leases []Lease, mark *marker, err error) {
	in := &dynamodb.QueryInput{
		TableName: aws.String(table), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("#s = :s"),
		ExpressionAttributeNames:  map[string]string{"#s": leaseStream},
		ExpressionAttributeValues: item{":s": avS(stream)},
	}
	for {
		out, err := client.Query(ctx, in)
		if err != nil {
			return nil, nil, fmt.Errorf("streams: read leases of %s: %w", stream, err)
		}

		for _, it := range out.Items {
			if str(it, leaseShard) == markerRow {
				mark = decodeMarker(it)
			} else {
				leases = append(leases, decodeLease(it))
			}
		}

		if len(out.LastEvaluatedKey) == 0 {
			return leases, mark, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// item is a DynamoDB item.
type item = map[string]ddbtypes.AttributeValue

func avS(s string) ddbtypes.AttributeValue { return &ddbtypes.AttributeValueMemberS{Value: s} }
func avN(n int64) ddbtypes.AttributeValue {
	return &ddbtypes.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
func avBool(b bool) ddbtypes.AttributeValue { return &ddbtypes.AttributeValueMemberBOOL{Value: b} }

func str(it item, name string) string {
	if v, ok := it[name].(*ddbtypes.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func num(it item, name string) int64 {
	if v, ok := it[name].(*ddbtypes.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(v.Value, 10, 64)
		return n
	}

	return 0
}

func boolean(it item, name string) bool {
	v, ok := it[name].(*ddbtypes.AttributeValueMemberBOOL)
	return ok && v.Value
}

// millis reads a time stored as Unix milliseconds; absent is zero.
func millis(it item, name string) time.Time {
	if n := num(it, name); n != 0 {
		return time.UnixMilli(n)
	}
	return time.Time{}
}

func leaseKey(stream, shard string) item {
	return item{leaseStream: avS(stream), leaseShard: avS(shard)}
}

func decodeLease(it item) Lease {
	return Lease{
		Stream: str(it, leaseStream), Shard: str(it, leaseShard),
		Parent: str(it, leaseParent), ParentDone: boolean(it, leaseParentDone),
		Owner: str(it, leaseOwner), Epoch: num(it, leaseEpoch), Counter: num(it, leaseCounter),
		Checkpoint: str(it, leaseCheckpoint), HandledAt: millis(it, leaseHandledAt),
		StartAt: millis(it, leaseStartAt), AtHorizon: boolean(it, leaseAtHorizon), Wanted: str(it, leaseWanted),
		FinishedAt: millis(it, leaseFinished),
		Gaps:       num(it, leaseGaps), GapFrom: str(it, leaseGapFrom), GapAt: millis(it, leaseGapAt),
	}
}

func (l Lease) encode() item {
	it := leaseKey(l.Stream, l.Shard)
	it[leaseEpoch], it[leaseCounter] = avN(l.Epoch), avN(l.Counter)
	for name, v := range map[string]string{
		leaseParent: l.Parent, leaseOwner: l.Owner, leaseCheckpoint: l.Checkpoint, leaseGapFrom: l.GapFrom,
	} {
		if v != "" {
			it[name] = avS(v)
		}
	}

	for name, t := range map[string]time.Time{
		leaseHandledAt: l.HandledAt, leaseStartAt: l.StartAt, leaseFinished: l.FinishedAt, leaseGapAt: l.GapAt,
	} {
		if !t.IsZero() {
			it[name] = avN(t.UnixMilli())
		}
	}

	if l.ParentDone {
		it[leaseParentDone] = avBool(true)
	}

	if l.AtHorizon {
		it[leaseAtHorizon] = avBool(true)
	}

	if l.Gaps != 0 {
		it[leaseGaps] = avN(l.Gaps)
	}

	return it
}

// leaseTable is the lease table as seen by the readers of one stream.
type leaseTable struct {
	api    dynamoAPI
	table  string
	stream string
}

// insert stores a lease unless the shard has one; it reports whether it did.
func (t *leaseTable) insert(ctx context.Context, l Lease) (bool, error) {
	l.Stream = t.stream
	return t.put(ctx, l.encode())
}

func (t *leaseTable) put(ctx context.Context, it item) (bool, error) {
	_, err := t.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &t.table, Item: it,
		ConditionExpression:      aws.String("attribute_not_exists(#s)"),
		ExpressionAttributeNames: map[string]string{"#s": leaseShard},
	})
	if _, refused := refusal(err); refused {
		return false, nil
	}

	if err != nil {
		return false, fmt.Errorf("streams: store lease %s: %w", str(it, leaseShard), err)
	}

	return true, nil
}

// take makes owner the holder, if the lease still is as l says. A take whose
// answer was lost is recognised by its owner and epoch.
func (t *leaseTable) take(ctx context.Context, l Lease, owner string) (Lease, bool, error) {
	u := newChange(t.table, leaseKey(t.stream, l.Shard))
	u.equals(leaseEpoch, avN(l.Epoch))
	u.equals(leaseCounter, avN(l.Counter))
	u.absent(leaseFinished)
	u.set(leaseOwner, avS(owner))
	u.set(leaseEpoch, avN(l.Epoch+1))
	u.set(leaseCounter, avN(l.Counter+1))
	u.set(leaseParentDone, avBool(true))
	u.remove(leaseWanted)

	now, refused, err := u.apply(ctx, t.api)
	if err != nil {
		return Lease{}, false, fmt.Errorf("streams: take lease %s: %w", l.Shard, err)
	}
	got := decodeLease(now)

	return got, !refused || (got.Owner == owner && got.Epoch == l.Epoch+1), nil
}

// want asks the holder of l to hand it over to owner.
func (t *leaseTable) want(ctx context.Context, l Lease, owner string) (bool, error) {
	u := newChange(t.table, leaseKey(t.stream, l.Shard))
	u.equals(leaseEpoch, avN(l.Epoch))
	u.equals(leaseOwner, avS(l.Owner))
	u.absent(leaseWanted)
	u.set(leaseWanted, avS(owner))

	_, refused, err := u.apply(ctx, t.api)
	if err != nil {
		return false, fmt.Errorf("streams: ask for lease %s: %w", l.Shard, err)
	}

	return !refused, nil
}

// unwant withdraws a request that was never met.
func (t *leaseTable) unwant(ctx context.Context, l Lease) error {
	u := newChange(t.table, leaseKey(t.stream, l.Shard))
	u.equals(leaseWanted, avS(l.Wanted))
	u.remove(leaseWanted)
	_, _, err := u.apply(ctx, t.api)

	return err
}

// orphan notes that the parent of l will not be seen any more.
func (t *leaseTable) orphan(ctx context.Context, shard string) error {
	u := newChange(t.table, leaseKey(t.stream, shard))
	u.present(leaseShard)
	u.set(leaseParentDone, avBool(true))
	_, _, err := u.apply(ctx, t.api)

	return err
}

// remove deletes the tombstone of a finished shard.
func (t *leaseTable) remove(ctx context.Context, shard string) error {
	_, err := t.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &t.table, Key: leaseKey(t.stream, shard),
	})
	return err
}

// change is one conditional update. Every attribute name goes through a
// placeholder, so none can be a reserved word.
type change struct {
	in           *dynamodb.UpdateItemInput
	sets, drops  string
	cond         string
	placeholders int
}

func newChange(table string, key item) *change {
	return &change{in: &dynamodb.UpdateItemInput{
		TableName: &table, Key: key,
		ExpressionAttributeNames:            map[string]string{},
		ReturnValues:                        ddbtypes.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: ddbtypes.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

func (c *change) name(name string) string {
	c.in.ExpressionAttributeNames["#"+name] = name
	return "#" + name
}

func (c *change) value(v ddbtypes.AttributeValue) string {
	if c.in.ExpressionAttributeValues == nil {
		c.in.ExpressionAttributeValues = item{}
	}
	c.placeholders++
	p := ":v" + strconv.Itoa(c.placeholders)
	c.in.ExpressionAttributeValues[p] = v

	return p
}

func join(list *string, sep, part string) {
	if *list != "" {
		*list += sep
	}
	*list += part
}

func (c *change) set(name string, v ddbtypes.AttributeValue) {
	join(&c.sets, ", ", c.name(name)+" = "+c.value(v))
}
func (c *change) remove(name string) { join(&c.drops, ", ", c.name(name)) }
func (c *change) equals(name string, v ddbtypes.AttributeValue) {
	join(&c.cond, " AND ", c.name(name)+" = "+c.value(v))
}
func (c *change) absent(name string) {
	join(&c.cond, " AND ", "attribute_not_exists("+c.name(name)+")")
}
func (c *change) present(name string) {
	join(&c.cond, " AND ", "attribute_exists("+c.name(name)+")")
}

// apply runs the update. It returns the item as it is now: changed, or, when the
// condition refused the change, as it was found (nil when there is none).
func (c *change) apply(ctx context.Context, api dynamoAPI, opts ...func(*dynamodb.Options)) (now item, refused bool, err error) {
	expr := ""
	if c.sets != "" {
		expr = "SET " + c.sets
	}

	if c.drops != "" {
		join(&expr, " ", "REMOVE "+c.drops)
	}

	c.in.UpdateExpression = &expr
	if c.cond != "" {
		c.in.ConditionExpression = &c.cond
	}

	out, err := api.UpdateItem(ctx, c.in, opts...)
	if it, refused := refusal(err); refused {
		return it, true, nil
	}

	if err != nil {
		return nil, false, err
	}

	return out.Attributes, false, nil
}

// refusal tells a failed condition from other errors and returns the item that
// failed it.
func refusal(err error) (item, bool) {
	var failed *ddbtypes.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return failed.Item, true
	}

	return nil, false
}
