package dynamodb

import (
	"bytes"
	"context"

	"ratchet/embedded/internal/dynamodb/legacy"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/pages"
	"ratchet/embedded/internal/dynamodb/views"
	"ratchet/embedded/internal/wire"
)

type scanIn struct {
	pages.Request
	Segment       *int64
	TotalSegments *int64
	ScanFilter    map[string]legacy.Condition
}

// maxSegments is how many segments a parallel scan can have.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
const maxSegments = 1_000_000

// scan reads the table in the order of its partition keys' hashes. A segment is a range of
// hashes, so the segments of a parallel scan never share an item. It validates in the order in which
// the service does.
// Source: https://github.com/architect/dynalite test/scan.js, recorded on the service
func (s *Service) scan(_ context.Context, in *scanIn) (any, error) {
	if err := in.constrain(s); err != nil {
		return nil, err
	}

	pg := &pages.Page{In: &in.Request}
	if err := in.parse(pg); err != nil {
		return nil, err
	}

	t, err := s.tables.Lookup(in.TableName)
	if err != nil {
		return nil, err
	}

	if pg.View, err = views.New(t, in.IndexName, in.Select, in.ConsistentRead); err != nil {
		return nil, err
	}

	// The start key is checked before the projection and the filter.
	lo, hi, err := in.rangeOf(pg.View)
	if err != nil {
		return nil, err
	}

	if err := pg.View.CheckProjection(pg.Project); err != nil {
		return nil, err
	}

	if err := pg.View.CheckFilterPaths(pg.Filter); err != nil {
		return nil, err
	}

	if err := pg.Read(s.db, lo, hi, false); err != nil {
		return nil, err
	}
	s.chargePage(pg)

	return pg.Answer(), nil
}

// constrain checks the members against the API model.
func (in *scanIn) constrain(s *Service) error {
	var c model.Constraints
	in.ConstrainSelect(&c)
	c.AtLeast(in.TotalSegments, "totalSegments", 1)
	c.Capacity(in.ReturnConsumedCapacity)
	s.tables.ConstrainTable(&c, in.TableName, "tableName")
	legacy.ConstrainOperator(&c, in.ConditionalOperator)
	legacy.ConstrainConditions(&c, in.ScanFilter, "scanFilter")
	c.AtLeast(in.Segment, "segment", 0)
	c.AtLeast(in.Limit, "limit", 1)
	c.AttributesToGet(in.AttributesToGet, "attributesToGet")

	if err := c.Err(); err != nil {
		return err
	}

	// The upper bounds are checked behind all other rules, one member at a time.
	if err := wire.Within(in.TotalSegments, "totalSegments", 1, maxSegments); err != nil {
		return err
	}

	return wire.Within(in.Segment, "segment", 0, maxSegments-1)
}

// parse checks the request as far as it does not depend on the table, and sets the filter and the
// projection.
func (in *scanIn) parse(pg *pages.Page) (err error) {
	if err := legacy.RefuseMix(in.LegacyParameters("ScanFilter", in.ScanFilter), in.ExpressionParameters()); err != nil {
		return err
	}

	used := in.FilterExpression != nil || in.ProjectionExpression != nil
	if err := in.Beside(used, in.FilterExpression != nil, "FilterExpression is"); err != nil {
		return err
	}

	if err := in.CheckSelect(); err != nil {
		return err
	}

	// The projection comes before the filter, unlike in a Query: the service reports their
	// faults in this order.
	if pg.Project, err = legacy.AttributesToGet(in.AttributesToGet); err != nil {
		return err
	}

	if err := pg.SetLegacyFilter(in.ScanFilter); err != nil {
		return err
	}

	if err := in.CheckStartValues(); err != nil {
		return err
	}

	if err := in.checkSegments(); err != nil {
		return err
	}

	p, err := in.Params("", used)
	if err != nil {
		return err
	}

	return pg.Parse(p)
}

// rangeOf returns the range of store keys to scan: the segment, from the ExclusiveStartKey on.
func (in *scanIn) rangeOf(v *views.View) (lo, hi []byte, err error) {
	lo, hi = v.Segment(in.Segment, in.TotalSegments)
	if in.ExclusiveStartKey == nil {
		return lo, hi, v.CheckAllAttributes(in.Select)
	}

	if err := v.CheckScanStart(in.ExclusiveStartKey); err != nil {
		return nil, nil, err
	}

	if err := v.CheckAllAttributes(in.Select); err != nil {
		return nil, nil, err
	}

	key, err := v.StartKey(in.ExclusiveStartKey)
	if err != nil {
		return nil, nil, err
	}

	// This needs segments: without them the range is the whole table or index.
	if bytes.Compare(key, lo) < 0 || bytes.Compare(key, hi) >= 0 {
		return nil, nil, invalid("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: %d Segment: %d",
			*in.TotalSegments, *in.Segment)
	}

	return append(key, 0), hi, nil
}

func (in *scanIn) checkSegments() error {
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
