package dynamodb

import (
	"bytes"
	"context"
	"encoding/binary"

	"ratchet/embedded/internal/store"
	"ratchet/embedded/internal/wire"
)

type scanIn struct {
	pageIn
	Segment       *int64
	TotalSegments *int64
}

// maxSegments is how many segments a parallel scan can have.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
const maxSegments = 1_000_000

// scan reads the table in the order of its partition keys' hashes. A segment is a range of
// hashes, so the segments of a parallel scan never share an item.
func (s *Service) scan(_ context.Context, in *scanIn) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}

	if err := in.checkSegments(); err != nil {
		return nil, err
	}

	t, err := s.lookup(in.TableName)
	if err != nil {
		return nil, err
	}
	pg := &page{in: &in.pageIn, table: t}

	p, err := in.params("FilterExpression is", in.FilterExpression != nil || in.ProjectionExpression != nil)
	if err != nil {
		return nil, err
	}

	if p != nil {
		if err := pg.expressions(p); err != nil {
			return nil, err
		}

		if err := p.Unused(); err != nil {
			return nil, err
		}
	}

	lo, hi := t.segment(in.Segment, in.TotalSegments)
	if in.ExclusiveStartKey != nil {
		key, err := t.keyOf(in.ExclusiveStartKey)
		if err != nil {
			return nil, invalid("The provided starting key is invalid: %s", message(err))
		}

		if bytes.Compare(key.bytes, lo) < 0 || bytes.Compare(key.bytes, hi) >= 0 {
			return nil, invalid("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: %d Segment: %d",
				*in.TotalSegments, *in.Segment)
		}
		lo = append(key.bytes, 0)
	}

	if err := pg.read(s, lo, hi, false); err != nil {
		return nil, err
	}
	s.charge(pg.table.name, readUnits(pg.bytes, pg.in.ConsistentRead), 0)

	return pg.answer(), nil
}

func (in *scanIn) checkSegments() error {
	if err := wire.Within(in.TotalSegments, "totalSegments", 1, maxSegments); err != nil {
		return err
	}

	if err := wire.Within(in.Segment, "segment", 0, maxSegments-1); err != nil {
		return err
	}

	switch {
	case in.Segment == nil && in.TotalSegments == nil:
		return nil
	case in.Segment == nil:
		return invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case in.TotalSegments == nil:
		return invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case *in.Segment >= *in.TotalSegments:
		return invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d",
			*in.Segment, *in.TotalSegments)
	}

	return nil
}

// segment returns the range of store keys of a segment, that of the whole table if segment is
// nil.
func (t *table) segment(segment, total *int64) (lo, hi []byte) {
	if segment == nil {
		return t.items, store.PrefixEnd(t.items)
	}

	boundary := func(n int64) []byte {
		return binary.BigEndian.AppendUint32(bytes.Clone(t.items), uint32((n<<32)/(*total)))
	}
	if *segment+1 == *total {
		return boundary(*segment), store.PrefixEnd(t.items)
	}

	return boundary(*segment), boundary(*segment + 1)
}
