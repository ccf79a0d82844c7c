package dynamodb

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/wire"
)

// Limits of batch requests.
const (
	maxBatchGets     = 100
	maxBatchWrites   = 25
	maxBatchResponse = 16 << 20
)

type keysAndAttributes struct {
	Keys                     []attr.Item
	ConsistentRead           bool
	ProjectionExpression     *string
	ExpressionAttributeNames map[string]string
	legacyIn
}

type batchGetIn struct {
	RequestItems           map[string]keysAndAttributes
	ReturnConsumedCapacity string
}

func (s *Service) batchGet(_ context.Context, in *batchGetIn) (any, error) {
	if err := checkCapacity(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}

	count := 0
	for _, r := range in.RequestItems {
		count += len(r.Keys)
	}

	if err := checkBatch(len(in.RequestItems), in.RequestItems == nil); err != nil {
		return nil, err
	}

	if count > maxBatchGets {
		return nil, invalid("Too many items requested for the BatchGetItem call")
	}

	b := &batchAnswer{sum: map[string]halves{}}
	for _, name := range slices.Sorted(maps.Keys(in.RequestItems)) {
		if err := s.batchTable(b, name, in.RequestItems[name]); err != nil {
			return nil, err
		}
	}
	out := newAnswer(len(b.responses) + len(b.left) + 64)
	out.raw("Responses", append(append([]byte{'{'}, b.responses...), '}'))
	out.raw("UnprocessedKeys", append(append([]byte{'{'}, b.left...), '}'))
	out.consumedBy(in.ReturnConsumedCapacity, b.sum, "")

	return out.done(), nil
}

func checkBatch(tables int, missing bool) error {
	switch {
	case missing:
		return wire.Missing("requestItems")
	case tables == 0:
		return wire.BadParameter("'{}'", "requestItems", "Member must have length greater than or equal to 1")
	}

	return nil
}

// batchAnswer collects the members of Responses and UnprocessedKeys.
type batchAnswer struct {
	responses, left []byte
	bytes           int
	sum             map[string]halves
}

func (s *Service) batchTable(b *batchAnswer, name string, r keysAndAttributes) error {
	if err := r.legacyIn.refuse(); err != nil {
		return err
	}

	t, err := s.lookup(&name)
	if err != nil {
		return err
	}

	if err := checkCount(len(r.Keys), r.Keys == nil, "requestItems."+name+".member.keys", maxBatchGets); err != nil {
		return err
	}

	project, err := projection(r.ProjectionExpression, r.ExpressionAttributeNames)
	if err != nil {
		return err
	}

	keys := make([]primary, len(r.Keys))
	seen := make(map[string]bool, len(keys))
	for i, k := range r.Keys {
		if keys[i], err = t.keyOf(k); err != nil {
			return err
		}

		if seen[string(keys[i].bytes)] {
			return invalid("Provided list of item keys contains duplicates")
		}
		seen[string(keys[i].bytes)] = true
	}

	if len(b.responses) > 0 {
		b.responses = append(b.responses, ',')
	}

	b.responses = append(appendText(b.responses, name), ':', '[')
	first := true
	for i, key := range keys {
		raw, err := s.read(key)
		if err != nil {
			return err
		}

		if b.bytes += raw.size(); b.bytes > maxBatchResponse {
			b.leave(name, r, r.Keys[i:])
			break
		}
		units := readUnits(raw.size(), r.ConsistentRead)
		s.charge(t.name, units, 0)
		b.sum[t.name] += units

		if raw == nil {
			continue
		}

		item, err := raw.item()
		if err != nil {
			return err
		}

		if project != nil {
			item = project.Apply(item)
		}

		if !first {
			b.responses = append(b.responses, ',')
		}
		first = false
		b.responses = item.AppendJSON(b.responses)
	}
	b.responses = append(b.responses, ']')

	return nil
}

// leave hands keys back that the answer has no room for.
func (b *batchAnswer) leave(name string, r keysAndAttributes, keys []attr.Item) {
	if len(b.left) > 0 {
		b.left = append(b.left, ',')
	}
	out := newAnswer(0)
	out.name("Keys")

	out.buf = append(out.buf, '[')
	for i, k := range keys {
		if i > 0 {
			out.buf = append(out.buf, ',')
		}
		out.buf = k.AppendJSON(out.buf)
	}

	out.buf = append(out.buf, ']')
	if r.ConsistentRead {
		out.raw("ConsistentRead", []byte("true"))
	}

	if r.ProjectionExpression != nil {
		out.text("ProjectionExpression", *r.ProjectionExpression)
	}

	if len(r.ExpressionAttributeNames) > 0 {
		names := newAnswer(0)
		for _, n := range slices.Sorted(maps.Keys(r.ExpressionAttributeNames)) {
			names.text(n, r.ExpressionAttributeNames[n])
		}
		out.raw("ExpressionAttributeNames", names.done())
	}
	b.left = append(append(appendText(b.left, name), ':'), out.done()...)
}

type writeRequest struct {
	PutRequest    *struct{ Item attr.Item }
	DeleteRequest *struct{ Key attr.Item }
}

type batchWriteIn struct {
	RequestItems                map[string][]writeRequest
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

// batchWrite writes all its items with one flush to disk. That makes it all or
// nothing here, which AWS does not promise; nothing is ever left unprocessed.
func (s *Service) batchWrite(_ context.Context, in *batchWriteIn) (any, error) {
	actions, err := s.batchActions(in)
	if err != nil {
		return nil, err
	}

	hashes := make([]uint64, len(actions))
	for i, a := range actions {
		hashes[i] = a.key.lock
	}
	defer s.stripes.lock(hashes)()

	changes := make([]*change, len(actions))
	sum := map[string]halves{}
	for i, a := range actions {
		if changes[i], err = s.judge(a); err != nil {
			return nil, err
		}
		sum[a.table.name] += changes[i].writeUnits()
	}

	if err := s.writeAll(changes, hashes, time.Now(), nil); err != nil {
		return nil, err
	}

	for table, units := range sum {
		s.charge(table, 0, units)
	}
	out := newAnswer(0)
	out.raw("UnprocessedItems", []byte("{}"))
	out.consumedBy(in.ReturnConsumedCapacity, sum, "")

	return out.done(), nil
}

func (s *Service) batchActions(in *batchWriteIn) (actions []*action, err error) {
	if err := checkCapacity(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}

	if err := wire.OneOf(in.ReturnItemCollectionMetrics, "returnItemCollectionMetrics", "SIZE", "NONE"); err != nil {
		return nil, err
	}

	if err := checkBatch(len(in.RequestItems), in.RequestItems == nil); err != nil {
		return nil, err
	}

	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(in.RequestItems)) {
		t, err := s.lookup(&name)
		if err != nil {
			return nil, err
		}

		requests := in.RequestItems[name]
		if err := checkCount(len(requests), requests == nil, "requestItems."+name+".member", maxBatchWrites); err != nil {
			return nil, err
		}

		for _, r := range requests {
			a, err := r.action(t)
			if err != nil {
				return nil, err
			}

			if seen[string(a.key.bytes)] {
				return nil, invalid("Provided list of item keys contains duplicates")
			}
			seen[string(a.key.bytes)] = true
			actions = append(actions, a)
		}
	}

	if len(actions) > maxBatchWrites {
		return nil, invalid("Too many items requested for the BatchWriteItem call")
	}

	return actions, nil
}

func (r *writeRequest) action(t *table) (*action, error) {
	switch {
	case r.PutRequest != nil && r.DeleteRequest != nil:
		return nil, invalid("A WriteRequest takes either a PutRequest or a DeleteRequest, not both")
	case r.PutRequest != nil:
		a, err := newPut(t, r.PutRequest.Item)
		var mismatch *schemaError
		if errors.As(err, &mismatch) {
			// Only PutItem says which key and which type.
			return nil, invalid("The provided key element does not match the schema")
		}

		return a, err
	case r.DeleteRequest != nil:
		return newKeyed(remove, t, r.DeleteRequest.Key)
	}

	return nil, invalid("A WriteRequest needs a PutRequest or a DeleteRequest")
}
