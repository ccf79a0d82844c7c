package dynamodb

import (
	"context"

	"ratchet/embedded/internal/dynamodb/answer"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/statements"
	"ratchet/embedded/internal/partiql"
	"ratchet/embedded/internal/wire"
)

type executeStatementIn struct {
	statements.Request
	ConsistentRead         bool
	Limit                  *int64
	NextToken              *string
	ReturnConsumedCapacity string
}

func (s *Service) executeStatement(_ context.Context, in *executeStatementIn) (any, error) {
	if err := checkCapacity(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}

	if err := wire.Within(in.Limit, "limit", 1, 1<<31-1); err != nil {
		return nil, err
	}

	stmt, err := in.Parse("statement")
	if err != nil {
		return nil, err
	}

	switch stmt.Command {
	case partiql.Select:
		return s.executeSelect(in, stmt)
	case partiql.Exists:
		return nil, existsAlone()
	}

	a, err := s.statementAction(stmt, in.ReturnValuesOnConditionCheckFailure)
	if err != nil {
		return nil, err
	}

	c, err := s.perform(a)
	if err != nil {
		return nil, err
	}

	out := answer.New(2 * c.newSize)

	// A write always answers with Items, which are empty without a RETURNING clause.
	out.Name("Items").Buf = append(out.Buf, '[')
	if attrs := c.returnedAttributes(stmt.Returning); len(attrs) > 0 {
		out.Buf = attrs.AppendJSON(out.Buf)
	}
	out.Buf = append(out.Buf, ']')
	capacity.Add(out, in.ReturnConsumedCapacity, a.table.Name, c.spent())

	return out.Done(), nil
}

// existsAlone is the refusal of an EXISTS outside of a transaction.
func existsAlone() error {
	return invalid("EXISTS can only be used in ExecuteTransaction write requests.")
}

// multiKeyStatement is the answer to a statement that reads an index whose partition key or sort key
// has several attributes.
// Source: https://github.com/paritysuite/dynamodb-conformance
// tests/tier3/error-messages/partiqlMultiAttributeIndex.test.ts
func multiKeyStatement() error {
	return invalid("PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys.")
}
