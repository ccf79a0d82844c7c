package dynamodb

import (
	"context"
	"crypto/sha256"
	"errors"
	"strconv"

	"ratchet/embedded/internal/dynamodb/answer"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/statements"
	"ratchet/embedded/internal/dynamodb/tokens"
	"ratchet/embedded/internal/partiql"
	"ratchet/embedded/internal/wire"
)

type executeTransactionIn struct {
	TransactStatements     []statements.Request
	ClientRequestToken     *string
	ReturnConsumedCapacity string
}

// executeTransaction runs statements as one transaction of reads or of writes.
func (s *Service) executeTransaction(_ context.Context, in *executeTransactionIn) (any, error) {
	if err := checkCapacity(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}

	if err := model.CheckCount(len(in.TransactStatements), in.TransactStatements == nil, "transactStatements", maxTransactItems); err != nil {
		return nil, err
	}

	var c model.Constraints
	if tokens.Constrain(&c, in.ClientRequestToken); c.Err() != nil {
		return nil, c.Err()
	}

	stmts, reads, err := in.parseAll()
	if err != nil {
		return nil, err
	}

	// Reads use no token: to repeat them does no harm.
	if reads {
		return s.transactSelects(in, stmts)
	}

	actions, err := collectActions(len(stmts), func(i int) (*action, error) {
		return s.statementAction(stmts[i], in.TransactStatements[i].ReturnValuesOnConditionCheckFailure)
	})
	if err != nil {
		return nil, err
	}

	changes, replayed, err := s.transact(actions, tokens.New(in.ClientRequestToken, in.digest))
	if err != nil {
		return nil, err
	}

	out := answer.New(0)
	out.Raw("Responses", []byte("[]"))

	return s.transactAnswer(out, in.ReturnConsumedCapacity, changes, replayed), nil
}

// parseAll reads the statements, which must be reads only or writes only.
func (in *executeTransactionIn) parseAll() (stmts []*partiql.Statement, reads bool, err error) {
	stmts = make([]*partiql.Statement, len(in.TransactStatements))
	selects := 0

	for i := range in.TransactStatements {
		stmt, err := in.TransactStatements[i].Parse("transactStatements." + strconv.Itoa(i+1) + ".member.statement")
		if err == nil {
			err = checkTransacted(stmt)
		}

		if err != nil {
			return nil, false, in.failed(i, err)
		}

		if stmt.Command == partiql.Select {
			selects++
		}
		stmts[i] = stmt
	}

	if selects > 0 && selects < len(stmts) {
		return nil, false, invalid("ExecuteTransaction API does not support both read and write operations in the same request.")
	}

	return stmts, selects > 0, nil
}

// failed returns the request's error for the error of one statement.
func (in *executeTransactionIn) failed(i int, err error) error {
	var e *wire.Error
	if err = asWireError(err); !errors.As(err, &e) || e.Type != "ValidationException" || in.TransactStatements[i].Statement == nil {
		return err
	}

	return invalid("Validation failed in TransactStatements[%d]: %s", i, e.Message)
}

// checkTransacted refuses clauses that a statement may not have in a transaction.
func checkTransacted(stmt *partiql.Statement) error {
	switch {
	case stmt.Returning != "":
		return invalid("RETURNING clause is not supported in ExecuteTransaction.")
	case stmt.Index != "":
		return invalid("Reads on indices are not supported within transactions.")
	case stmt.Command == partiql.Exists && len(stmt.Where.Conjuncts()) < 2:
		return invalid("EXISTS() must contain a single item read with additional condition")
	default:
		return nil
	}
}

// transactSelects reads all items as they are at one moment.
func (s *Service) transactSelects(in *executeTransactionIn, stmts []*partiql.Statement) (any, error) {
	gets := make([]itemRead, len(stmts))
	for i, stmt := range stmts {
		r, err := s.statementRead(stmt, "ExecuteTransaction")
		if err != nil {
			return nil, in.failed(i, err)
		}
		gets[i] = *r
	}

	return s.transactReads(gets, in.ReturnConsumedCapacity)
}

// digest identifies the statements and their parameters.
func (in *executeTransactionIn) digest() [sha256.Size]byte {
	var b []byte
	for i := range in.TransactStatements {
		stmt := &in.TransactStatements[i]
		if stmt.Statement != nil {
			b = stmt.AppendTo(b)
		}
	}

	return sha256.Sum256(b)
}
