package dynamodb

import (
	"context"

	"ratchet/embedded/internal/attr"
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
	table   *table
	key     primary
	project *expression.Projection
}

// transactGetItems reads all items as they are at one moment: it holds their stripes while
// it reads.
func (s *Service) transactGetItems(_ context.Context, in *transactGetIn) (any, error) {
	if err := checkCapacity(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}

	if err := checkCount(len(in.TransactItems), in.TransactItems == nil, "transactItems", maxTransactItems); err != nil {
		return nil, err
	}

	gets := make([]itemRead, len(in.TransactItems))
	hashes := make([]uint64, len(gets))
	seen := make(map[string]bool, len(gets))
	for i, item := range in.TransactItems {
		w, err := s.newItemRead(item.Get)
		if err != nil {
			return nil, err
		}

		if seen[string(w.key.bytes)] {
			return nil, invalid("Transaction request cannot include multiple operations on one item")
		}
		seen[string(w.key.bytes)] = true
		gets[i], hashes[i] = w, w.key.lock
	}

	raws, total, err := s.readAll(gets, hashes)
	if err != nil {
		return nil, err
	}

	if total > maxTransactBytes {
		return nil, invalid("The aggregate size of the items in the transaction exceeds 4 MB")
	}
	sum := spendings{}
	out := newAnswer(2 * total)
	out.name("Responses")

	out.buf = append(out.buf, '[')
	for i, raw := range raws {
		if i > 0 {
			out.buf = append(out.buf, ',')
		}
		units := 2 * readUnits(raw.size(), true)
		s.charge(gets[i].table.name, units, 0)

		sum.add(gets[i].table.name, onTable(units))

		out.buf = append(out.buf, '{')
		if raw != nil {
			item, err := raw.item()
			if err != nil {
				return nil, err
			}

			if p := gets[i].project; p != nil {
				item = p.Apply(item)
			}
			out.item("Item", item)
		}
		out.buf = append(out.buf, '}')
	}
	out.buf = append(out.buf, ']')
	out.consumedBy(in.ReturnConsumedCapacity, sum, "ReadCapacityUnits")

	return out.done(), nil
}

func (s *Service) newItemRead(get *transactGet) (w itemRead, err error) {
	if get == nil {
		return w, invalid("Invalid Request: TransactGetItems should contain Get requests")
	}

	if w.table, err = s.lookup(get.TableName); err != nil {
		return w, err
	}

	if w.key, err = w.table.keyOf(get.Key); err != nil {
		return w, err
	}
	w.project, err = projection(get.ProjectionExpression, get.ExpressionAttributeNames)

	return w, err
}

func (s *Service) readAll(gets []itemRead, hashes []uint64) (raws []stored, total int, err error) {
	defer s.stripes.lock(hashes)()

	raws = make([]stored, len(gets))
	for i := range gets {
		raw, _, err := s.db.Get(gets[i].key.bytes)
		if err != nil {
			return nil, 0, err
		}
		raws[i] = raw
		total += raws[i].size()
	}

	return raws, total, nil
}
