package dynamodb

import (
	"bytes"
	"context"

	"ratchet/embedded/internal/dynamodb/legacy"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/pages"
	"ratchet/embedded/internal/dynamodb/views"
	"ratchet/embedded/internal/expression"
)

type queryIn struct {
	pages.Request
	KeyConditionExpression *string
	ScanIndexForward       *bool
	KeyConditions          map[string]legacy.Condition
	QueryFilter            map[string]legacy.Condition
}

// query validates a request in the order of the service: against the API model, then as far as it does not
// depend on the table, then against the table and its index.
// Source: https://github.com/architect/dynalite test/query.js, recorded on the service
func (s *Service) query(_ context.Context, in *queryIn) (any, error) {
	if err := in.constrain(s); err != nil {
		return nil, err
	}

	pg := &pages.Page{In: &in.Request}

	terms, err := in.parse(pg)
	if err != nil {
		return nil, err
	}

	t, err := s.tables.Lookup(in.TableName)
	if err != nil {
		return nil, err
	}

	v, err := views.New(t, in.IndexName, in.Select, in.ConsistentRead)
	if err != nil {
		return nil, err
	}
	pg.View = v

	cond, err := v.Condition(terms, in.ExclusiveStartKey)
	if err != nil {
		return nil, err
	}

	lo, hi, err := v.Bounds(cond)
	if err != nil {
		return nil, err
	}

	reverse := in.ScanIndexForward != nil && !*in.ScanIndexForward
	if in.ExclusiveStartKey != nil {
		if lo, hi, err = v.StartAfter(in.ExclusiveStartKey, cond, lo, hi, reverse); err != nil {
			return nil, err
		}
	}

	if err := checkQueryPaths(pg); err != nil {
		return nil, err
	}

	// With a start key the bounds are only a part of the range of one key.
	pg.Single = in.ExclusiveStartKey == nil && v.Single(cond)

	// A start key at the end of the range leaves nothing to read.
	if bytes.Compare(lo, hi) < 0 {
		if err := pg.Read(s.db, lo, hi, reverse); err != nil {
			return nil, err
		}
	}
	s.chargePage(pg)

	return pg.Answer(), nil
}

// constrain checks the members against the API model.
func (in *queryIn) constrain(s *Service) error {
	c := model.Constraints{Alone: wordsOfLimit}
	in.ConstrainSelect(&c)
	c.Capacity(in.ReturnConsumedCapacity)
	legacy.ConstrainConditions(&c, in.QueryFilter, "queryFilter")
	s.tables.ConstrainTable(&c, in.TableName, "tableName")
	legacy.ConstrainOperator(&c, in.ConditionalOperator)
	c.AttributesToGet(in.AttributesToGet, "attributesToGet")
	c.AtLeast(in.Limit, "limit", 1)
	legacy.ConstrainConditions(&c, in.KeyConditions, "keyConditions")

	return c.Err()
}

// wordsOfLimit returns the words for a Limit of a Query, which Scan does not share.
// Source: https://github.com/nubo-db/dynamodb-conformance tests/tier3/error-messages/query.test.ts and
// scan.test.ts, recorded on the service
func wordsOfLimit(b model.Breach) string {
	if b.Member != "limit" {
		return ""
	}

	return b.Unquoted("Limit")
}

// parse checks the request as far as it does not depend on the table. It sets the filter and the projection,
// and returns the comparisons of the keys: of the KeyConditionExpression or, if there is none, of
// KeyConditions.
func (in *queryIn) parse(pg *pages.Page) (*expression.KeyTerms, error) {
	// KeyConditions may stand beside a FilterExpression or a ProjectionExpression.
	old := append(in.LegacyParameters("QueryFilter", in.QueryFilter),
		legacy.Parameter{Name: "KeyConditions", Given: len(in.KeyConditions) > 0 && in.KeyConditionExpression != nil})

	expressions := append(in.ExpressionParameters(), legacy.Parameter{Name: "KeyConditionExpression", Given: in.KeyConditionExpression != nil})
	if err := legacy.RefuseMix(old, expressions); err != nil {
		return nil, err
	}

	filtered := in.FilterExpression != nil || in.KeyConditionExpression != nil
	used := filtered || in.ProjectionExpression != nil

	if err := in.Beside(used, filtered, "FilterExpression and KeyConditionExpression are"); err != nil {
		return nil, err
	}

	if err := in.CheckSelect(); err != nil {
		return nil, err
	}

	if err := pg.SetLegacyFilter(in.QueryFilter); err != nil {
		return nil, err
	}

	var err error
	if pg.Project, err = legacy.AttributesToGet(in.AttributesToGet); err != nil {
		return nil, err
	}

	if err := in.CheckStartValues(); err != nil {
		return nil, err
	}

	if in.KeyConditions == nil && in.KeyConditionExpression == nil {
		return nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}

	p, err := in.Params("", used)
	if err != nil {
		return nil, err
	}

	return in.keyTerms(pg, p)
}

// keyTerms parses the expressions, if there are any, and returns the comparisons of the keys.
func (in *queryIn) keyTerms(pg *pages.Page, p *expression.Params) (*expression.KeyTerms, error) {
	var key *expression.KeyExpression
	if in.KeyConditionExpression != nil {
		if *in.KeyConditionExpression == "" {
			return nil, invalid("Invalid KeyConditionExpression: The expression can not be empty;")
		}

		var err error
		if key, err = expression.ParseKeyCondition(*in.KeyConditionExpression, p); err != nil {
			return nil, err
		}
	}

	// The other expressions come before the terms of the key: so far the KeyConditionExpression
	// was read as any condition.
	if err := pg.Parse(p); err != nil {
		return nil, err
	}

	if key != nil {
		return key.Terms()
	}

	list, err := legacy.Comparisons(in.KeyConditions)
	if err != nil {
		return nil, err
	}

	return expression.NewKeyTerms(list)
}

// checkQueryPaths checks the paths in the filter and the projection of a Query.
func checkQueryPaths(pg *pages.Page) error {
	v := pg.View
	if err := v.CheckProjection(pg.Project); err != nil {
		return err
	}

	if err := v.CheckFilter(pg.Filter, pg.LegacyFilter); err != nil {
		return err
	}

	if err := v.CheckAllAttributes(pg.In.Select); err != nil {
		return err
	}

	return v.CheckFilterPaths(pg.Filter)
}
