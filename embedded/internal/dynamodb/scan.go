package dynamodb

import (
	"bytes"
	"context"

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

	v, err := in.view(t)
	if err != nil {
		return nil, err
	}

	pg := &page{in: &in.pageIn, view: v}

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

	lo, hi := v.segment(in.Segment, in.TotalSegments)
	if in.ExclusiveStartKey != nil {
		key, err := v.startKey(in.ExclusiveStartKey)
		if err != nil {
			return nil, err
		}

		if bytes.Compare(key, lo) < 0 || bytes.Compare(key, hi) >= 0 {
			return nil, invalid("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: %d Segment: %d",
				*in.TotalSegments, *in.Segment)
		}
		lo = append(key, 0)
	}

	if err := pg.read(s, lo, hi, false); err != nil {
		return nil, err
	}
	s.charge(t.name, readUnits(pg.bytes, pg.in.ConsistentRead), 0)

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
