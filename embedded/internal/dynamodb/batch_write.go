package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/answer"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/model"
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
		hashes[i] = a.key.Lock
	}

	// The stripes are held until the batch is on disk, so that no writer comes between
	// evaluation and commit.
	defer s.stripes.Lock(hashes)()

	changes := make([]*change, len(actions))
	sum := capacity.Sum{}
	for i, a := range actions {
		if changes[i], err = s.evaluate(a); err != nil {
			return nil, err
		}
		sum.Add(a.table.Name, changes[i].spent())
	}

	if err := s.writeAll(changes, hashes, s.cfg.Clock.Now(), nil); err != nil {
		return nil, err
	}

	for table, units := range sum {
		s.charge(table, 0, units.Total())
	}
	out := answer.New(0)
	out.Raw("UnprocessedItems", []byte("{}"))
	addCollections(out, in.ReturnItemCollectionMetrics, changes)
	capacity.AddSum(out, in.ReturnConsumedCapacity, sum, "")

	return out.Done(), nil
}

func (s *Service) batchActions(in *batchWriteIn) (actions []*action, err error) {
	if err := in.constrain(s); err != nil {
		return nil, err
	}

	names := slices.Sorted(maps.Keys(in.RequestItems))

	// All requests are checked by themselves before the first table is looked for.
	var drafts [][]*action // by table
	for _, name := range names {
		of, err := draftBatch(in.RequestItems[name])
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, of)
	}

	seen := map[string]bool{}
	for i, name := range names {
		t, err := s.tables.Lookup(&name)
		if err != nil {
			return nil, err
		}

		for _, a := range drafts[i] {
			if err := a.bind(t); err != nil {
				var mismatch *keyspace.Mismatch
				if errors.As(err, &mismatch) {
					// The message that names the key and its type is PutItem's alone.
					return nil, invalid("The provided key element does not match the schema")
				}

				return nil, err
			}

			if seen[string(a.key.Bytes)] {
				return nil, invalid("Provided list of item keys contains duplicates")
			}
			seen[string(a.key.Bytes)] = true
			actions = append(actions, a)
		}
	}

	// The model limits the list of each table. This is the limit of all together.
	if len(actions) > maxBatchWrites {
		return nil, invalid("Too many items requested for the BatchWriteItem call")
	}

	return actions, nil
}

// constrain checks the members against the API model. Faults of table names count only if there is
// no other fault.
// Source: https://github.com/paritysuite/dynamodb-conformance tests/tier3/validation-ordering/batchOperations.test.ts
func (in *batchWriteIn) constrain(s *Service) error {
	c := model.Constraints{Alone: wordsOfBatchWrite}
	c.Capacity(in.ReturnConsumedCapacity)
	c.CollectionMetrics(in.ReturnItemCollectionMetrics)
	in.constrainItems(&c)

	if err := c.Err(); err != nil {
		return err
	}

	names := slices.Sorted(maps.Keys(in.RequestItems))
	if slices.ContainsFunc(names, s.isNoTableName) {
		c.Broke("'"+in.itemsText()+"'", "requestItems", "Map keys must satisfy constraint: "+mapKeyRules)
	}

	return c.Err()
}

// wordsOfBatchWrite returns the words for no tables.
// Source: https://github.com/nubo-db/dynamodb-conformance tests/tier3/error-messages/batchWriteItem.test.ts,
// recorded on the service
func wordsOfBatchWrite(b model.Breach) string {
	if b.Value != noTables {
		return ""
	}

	return "The requestItems parameter is required for BatchWriteItem"
}

func (in *batchWriteIn) constrainItems(c *model.Constraints) {
	switch {
	case in.RequestItems == nil:
		c.Missing("requestItems")
	case len(in.RequestItems) == 0:
		c.Length(0, "{}", "requestItems", 1, model.MaxName)
	}

	names := slices.Sorted(maps.Keys(in.RequestItems))
	for _, name := range names {
		if n := len(in.RequestItems[name]); n < 1 || n > maxBatchWrites {
			c.Broke("'"+in.itemsText()+"'", "requestItems",
				"Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]")

			// One breach for all tables, because the message quotes the whole map.
			break
		}
	}

	for _, name := range names {
		for i, r := range in.RequestItems[name] {
			// A function, because only a fault needs the text.
			at := func() string { return model.Member("requestItems."+name+".member", i) }
			if r.DeleteRequest != nil && r.DeleteRequest.Key == nil {
				c.Missing(at() + ".deleteRequest.key")
			}

			if r.PutRequest != nil && r.PutRequest.Item == nil {
				c.Missing(at() + ".putRequest.item")
			}
		}
	}
}

// itemsText returns RequestItems as a message quotes it. The service shows each request as a Java
// object with its address. The engine writes the number of the requests.
func (in *batchWriteIn) itemsText() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(in.RequestItems)) {
		parts = append(parts, fmt.Sprintf("%s=[%d requests]", name, len(in.RequestItems[name])))
	}

	return "{" + strings.Join(parts, ", ") + "}"
}

// draftBatch returns the actions on one table, as far as the request itself shows them.
func draftBatch(requests []writeRequest) ([]*action, error) {
	for _, r := range requests {
		if (r.PutRequest == nil) == (r.DeleteRequest == nil) {
			return nil, invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
		}
	}

	drafts := make([]*action, len(requests))
	for i, r := range requests {
		var err error
		if r.PutRequest != nil {
			drafts[i], err = draftPut(r.PutRequest.Item)
		} else {
			drafts[i], err = draftKeyed(remove, r.DeleteRequest.Key)
		}

		if err != nil {
			return nil, err
		}
	}

	return drafts, nil
}
