package dynamodb

import (
	"context"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/answer"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/catalog"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/legacy"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/references"
	"ratchet/embedded/internal/dynamodb/stored"
	"ratchet/embedded/internal/expression"
)

type getItemIn struct {
	TableName                *string
	Key                      attr.Item
	ConsistentRead           bool
	ProjectionExpression     *string
	ExpressionAttributeNames map[string]string
	ReturnConsumedCapacity   string
	AttributesToGet          []string
}

func (s *Service) getItem(_ context.Context, in *getItemIn) (any, error) {
	if err := in.constrain(s); err != nil {
		return nil, err
	}

	// The service reports faults of the request itself before it looks for the table.
	project, err := in.draft()
	if err != nil {
		return nil, err
	}

	t, err := s.tables.Lookup(in.TableName)
	if err != nil {
		return nil, err
	}

	key, err := t.KeyOf(in.Key)
	if err != nil {
		return nil, err
	}

	if project != nil {
		if err := checkPaths(t, project.Paths()); err != nil {
			return nil, err
		}
	}

	raw, err := s.read(t, key)
	if err != nil {
		return nil, err
	}

	out := answer.New(2 * raw.Size())
	if err := out.Stored("Item", raw, project); err != nil {
		return nil, err
	}
	units := capacity.Read(raw.Size(), in.ConsistentRead)
	s.charge(t.Name, units, 0)
	capacity.Add(out, in.ReturnConsumedCapacity, t.Name, capacity.OnTable(units))

	return out.Done(), nil
}

// constrain checks the members against the API model.
func (in *getItemIn) constrain(s *Service) error {
	var c model.Constraints
	c.Capacity(in.ReturnConsumedCapacity)
	c.AttributesToGet(in.AttributesToGet, "attributesToGet")
	s.tables.ConstrainTable(&c, in.TableName, "tableName")

	if in.Key == nil {
		c.Missing("key")
	}

	return c.Err()
}

// draft checks the request as far as it does not depend on the table, and returns its projection,
// nil for all.
func (in *getItemIn) draft() (*expression.Projection, error) {
	err := legacy.RefuseMix([]legacy.Parameter{{Name: "AttributesToGet", Given: in.AttributesToGet != nil}}, []legacy.Parameter{{Name: "ProjectionExpression", Given: in.ProjectionExpression != nil}})
	if err != nil {
		return nil, err
	}

	names := references.Parameters{ExpressionAttributeNames: in.ExpressionAttributeNames}
	if err := names.Beside(in.ProjectionExpression != nil, true, ""); err != nil {
		return nil, err
	}

	if err := in.Key.Err(); err != nil {
		return nil, err
	}

	if in.AttributesToGet != nil {
		return legacy.AttributesToGet(in.AttributesToGet)
	}

	return references.Projection(in.ProjectionExpression, in.ExpressionAttributeNames)
}

// read returns an item of the table, nil if there is none.
func (s *Service) read(t *catalog.Table, key keyspace.Primary) (stored.Item, error) {
	raw, err := s.stripes.Of(key.Lock).Read(s.db, key.Bytes)
	if err == nil && raw == nil && t.State().Deleted {
		err = catalog.Missing() // the item may have gone with its table
	}

	return raw, err
}
