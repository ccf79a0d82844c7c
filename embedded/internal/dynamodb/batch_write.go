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

type writeRequest struct {
	PutRequest    *struct{ Item attr.Item }
	DeleteRequest *struct{ Key attr.Item }
}

type batchWriteIn struct {
	RequestItems                map[string][]writeRequest
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

// batchWrite writes all its items with one flush to disk. That makes the batch atomic, which
// AWS does not promise, and leaves nothing unprocessed.
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
	sum := spendings{}
	for i, a := range actions {
		if changes[i], err = s.evaluate(a); err != nil {
			return nil, err
		}
		sum.add(a.table.name, changes[i].spent())
	}

	if err := s.writeAll(changes, hashes, time.Now(), nil); err != nil {
		return nil, err
	}

	for table, units := range sum {
		s.charge(table, 0, units.total())
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
			// The message that names the key and its type is PutItem's alone.
			return nil, invalid("The provided key element does not match the schema")
		}

		return a, err
	case r.DeleteRequest != nil:
		return newKeyed(remove, t, r.DeleteRequest.Key)
	}

	return nil, invalid("A WriteRequest needs a PutRequest or a DeleteRequest")
}
