package dynamodb

import (
	"context"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/answer"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/references"
	"ratchet/embedded/internal/dynamodb/stored"
	"ratchet/embedded/internal/expression"
)

type transactGet struct {
	TableName                *string
	Key                      attr.Item
	ProjectionExpression     *string
	ExpressionAttributeNames map[string]string
}

type transactGetIn struct {
	TransactItems          []struct{ Get *transactGet }
	ReturnConsumedCapacity string
}

// itemRead is a checked request to read one item.
type itemRead struct {
	table *catalog.Table
	key   keyspace.Primary
	// shape makes the answer's item from the stored item, nil for the whole item.
	shape func(attr.Item) attr.Item
}

// transactGetItems reads all items as they are at one moment: it holds their stripes while
// it reads.
func (s *Service) transactGetItems(_ context.Context, in *transactGetIn) (any, error) {
	if err := in.constrain(s); err != nil {
		return nil, err
	}

	gets := make([]itemRead, len(in.TransactItems))
	for i, item := range in.TransactItems {
		project, err := item.Get.draft()
		if err != nil {
			return nil, err
		}

		if project != nil {
			gets[i].shape = project.Apply
		}
	}

	if err := in.bind(s, gets); err != nil {
		return nil, err
	}

	return s.transactReads(gets, in.ReturnConsumedCapacity)
}

// transactReads answers the items that a transaction reads. No item may be read twice.
func (s *Service) transactReads(gets []itemRead, want string) (any, error) {
	hashes := make([]uint64, len(gets))
	seen := make(map[string]bool, len(gets))
	for i := range gets {
		if seen[string(gets[i].key.Bytes)] {
			return nil, invalid("Transaction request cannot include multiple operations on one item")
		}
		seen[string(gets[i].key.Bytes)] = true
		hashes[i] = gets[i].key.Lock
	}

	raws, total, err := s.readAll(gets, hashes)
	if err != nil {
		return nil, err
	}

	if total > maxTransactBytes {
		return nil, invalid("The aggregate size of the items in the transaction exceeds 4 MB")
	}

	// The stripes are free again: raws are copies.
	sum := capacity.Sum{}
	out := answer.New(2 * total)
	out.Name("Responses")

	out.Buf = append(out.Buf, '[')
	for i, raw := range raws {
		if i > 0 {
			out.Buf = append(out.Buf, ',')
		}

		// AWS doubles the units of a transaction, and its reads are consistent.
		units := 2 * capacity.Read(raw.Size(), true)
		s.charge(gets[i].table.Name, units, 0)

		sum.Add(gets[i].table.Name, capacity.OnTable(units))

		out.Buf = append(out.Buf, '{')
		if raw != nil {
			if err := gets[i].add(out, raw); err != nil {
				return nil, err
			}
		}
		out.Buf = append(out.Buf, '}')
	}
	out.Buf = append(out.Buf, ']')
	capacity.AddSum(out, want, sum, "ReadCapacityUnits")

	return out.Done(), nil
}

// add adds the item to an answer, in the requested shape.
func (r *itemRead) add(out *answer.Object, raw stored.Item) error {
	if r.shape == nil {
		return out.Stored("Item", raw, nil)
	}

	item, err := raw.Decode()
	if err == nil {
		out.Item("Item", r.shape(item))
	}

	return err
}

// constrain checks the members against the API model.
func (in *transactGetIn) constrain(s *Service) error {
	var c model.Constraints
	c.Capacity(in.ReturnConsumedCapacity)
	c.Count(len(in.TransactItems), in.TransactItems == nil, "transactItems", maxTransactItems)

	for i, item := range in.TransactItems {
		if item.Get == nil {
			continue
		}

		// Usually the table exists, and member need not build a text.
		if name := item.Get.TableName; name == nil || s.tables.Get(*name) == nil {
			s.tables.ConstrainTable(&c, name, model.Member("transactItems", i)+".get.tableName")
		}

		if item.Get.Key == nil {
			c.Missing(model.Member("transactItems", i) + ".get.key")
		}
	}

	return c.Err()
}

// draft checks the request as far as it does not depend on the table, and returns its projection, nil for
// all.
func (get *transactGet) draft() (*expression.Projection, error) {
	if get == nil {
		return nil, invalid("Invalid Request: TransactGetItems should contain Get requests")
	}

	project, err := references.Projection(get.ProjectionExpression, get.ExpressionAttributeNames)
	if err != nil {
		return nil, err
	}

	return project, get.Key.Err()
}

// bind finds the tables and the keys of the items. An error about a table's key cancels the
// transaction, any other refuses the request.
// Source: https://github.com/nubo-db/dynamodb-conformance tests/tier3/error-messages/transactGetItems.test.ts,
// recorded on the service
func (in *transactGetIn) bind(s *Service, gets []itemRead) error {
	return cancelMismatches(len(gets), func(i int) error { return gets[i].bind(s, in.TransactItems[i].Get) })
}

// bind finds the table and the key of the item.
func (r *itemRead) bind(s *Service, get *transactGet) (err error) {
	if r.table, err = s.tables.Lookup(get.TableName); err != nil {
		return err
	}

	r.key, err = r.table.KeyOf(get.Key)

	return err
}

func (s *Service) readAll(gets []itemRead, hashes []uint64) (raws []stored.Item, total int, err error) {
	defer s.stripes.Lock(hashes)()

	raws = make([]stored.Item, len(gets))
	for i := range gets {
		// Without a Barrier: a writer holds its stripes until its change is on disk.
		raw, _, err := s.db.Get(gets[i].key.Bytes)
		switch {
		case err != nil:
			return nil, 0, err
		case raw == nil && gets[i].table.State().Deleted:
			return nil, 0, catalog.Missing()
		}
		raws[i] = raw
		total += raws[i].Size()
	}

	return raws, total, nil
}
