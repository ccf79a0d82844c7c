package dynamodb

import (
	"bytes"
	"context"

	"ratchet/embedded/internal/expression"
)

type queryIn struct {
	pageIn
	KeyConditionExpression *string
	ScanIndexForward       *bool
}

func (s *Service) query(_ context.Context, in *queryIn) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}

	t, err := s.lookup(in.TableName)
	if err != nil {
		return nil, err
	}

	if in.KeyConditionExpression == nil {
		used := in.FilterExpression != nil || in.ProjectionExpression != nil
		if _, err := in.params("FilterExpression and KeyConditionExpression are", used); err != nil {
			return nil, err
		}

		return nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}

	p, err := in.params("", true)
	if err != nil {
		return nil, err
	}

	v, err := in.view(t)
	if err != nil {
		return nil, err
	}

	cond, err := expression.ParseKeyCondition(*in.KeyConditionExpression, v.keys.Hash.Name, v.keys.Range.Name, p)
	if err != nil {
		return nil, err
	}

	pg := &page{in: &in.pageIn, view: v}
	if err := pg.expressions(p); err != nil {
		return nil, err
	}

	if err := p.Unused(); err != nil {
		return nil, err
	}

	if err := v.checkFilter(pg.filter); err != nil {
		return nil, err
	}

	lo, hi, err := v.bounds(cond)
	if err != nil {
		return nil, err
	}

	reverse := in.ScanIndexForward != nil && !*in.ScanIndexForward
	if in.ExclusiveStartKey != nil {
		if lo, hi, err = v.startAfter(in.ExclusiveStartKey, cond, lo, hi, reverse); err != nil {
			return nil, err
		}
	}

	if bytes.Compare(lo, hi) < 0 {
		if err := pg.read(s, lo, hi, reverse); err != nil {
			return nil, err
		}
	}
	s.charge(t.name, readUnits(pg.bytes, pg.in.ConsistentRead), 0)

	return pg.answer(), nil
}
