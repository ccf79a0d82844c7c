package dynamodb

import (
	"context"
	"maps"
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/wire"
)

// The limits of batch requests.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
// and API_BatchWriteItem.html
const (
	maxBatchGets     = 100
	maxBatchWrites   = 25
	maxBatchResponse = 16 << 20 // bytes of items
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

	b := &batchAnswer{sum: spendings{}}
	for _, name := range slices.Sorted(maps.Keys(in.RequestItems)) {
		if err := s.readBatch(b, name, in.RequestItems[name]); err != nil {
			return nil, err
		}
	}
	out := newAnswer(len(b.responses) + len(b.unprocessed) + 64)
	out.raw("Responses", append(append([]byte{'{'}, b.responses...), '}'))
	out.raw("UnprocessedKeys", append(append([]byte{'{'}, b.unprocessed...), '}'))
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

// batchAnswer collects the members of Responses and UnprocessedKeys as JSON, and the cost by
// table.
type batchAnswer struct {
	responses, unprocessed []byte
	bytes                  int
	sum                    spendings
}

// readBatch reads the items of one table into the answer, until the answer is full.
func (s *Service) readBatch(b *batchAnswer, name string, r keysAndAttributes) error {
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
			b.addUnprocessed(name, r, r.Keys[i:])
			break
		}
		units := readUnits(raw.size(), r.ConsistentRead)
		s.charge(t.name, units, 0)
		b.sum.add(t.name, onTable(units))

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

// addUnprocessed adds the keys of a table for which the answer has no room, in the form in
// which the caller can send them again.
func (b *batchAnswer) addUnprocessed(name string, r keysAndAttributes, keys []attr.Item) {
	if len(b.unprocessed) > 0 {
		b.unprocessed = append(b.unprocessed, ',')
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
	b.unprocessed = append(append(appendText(b.unprocessed, name), ':'), out.done()...)
}
