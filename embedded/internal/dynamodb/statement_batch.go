package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"ratchet/embedded/internal/dynamodb/answer"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/statements"
	"ratchet/embedded/internal/partiql"
	"ratchet/embedded/internal/wire"
)

// maxBatchStatements is how many statements BatchExecuteStatement takes.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html
const maxBatchStatements = 25

type batchStatementIn struct {
	statements.Request
	ConsistentRead bool
}

type batchExecuteIn struct {
	Statements             []batchStatementIn
	ReturnConsumedCapacity string
}

// batchMember is a statement of a batch: an item to read, an action, or an error.
type batchMember struct {
	table  string
	read   *itemRead
	action *action
	stmt   *partiql.Statement
	change *change // of an action that was made
	err    error
}

// batchExecute runs each statement by itself and answers its error in its place. No two statements
// may have the same item.
func (s *Service) batchExecute(_ context.Context, in *batchExecuteIn) (any, error) {
	if err := checkCapacity(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}

	if err := model.CheckCount(len(in.Statements), in.Statements == nil, "statements", maxBatchStatements); err != nil {
		return nil, err
	}

	members, err := s.batchMembers(in.Statements)
	if err != nil {
		return nil, err
	}

	if err := s.writeMembers(members); err != nil {
		return nil, err
	}

	sum := capacity.Sum{}
	out := answer.New(256 * len(members))
	out.Name("Responses").Buf = append(out.Buf, '[')
	for i := range members {
		if i > 0 {
			out.Buf = append(out.Buf, ',')
		}

		if err := s.runMember(out, &members[i], in.Statements[i].ConsistentRead, sum); err != nil {
			return nil, err
		}
	}
	out.Buf = append(out.Buf, ']')
	capacity.AddSum(out, in.ReturnConsumedCapacity, sum, "")

	return out.Done(), nil
}

// batchMembers reads the statements. An error that concerns one of them goes into its member.
func (s *Service) batchMembers(in []batchStatementIn) ([]batchMember, error) {
	members := make([]batchMember, len(in))
	reads, writes := false, false
	seen := map[string]bool{}

	for i := range in {
		m := &members[i]
		name := fmt.Sprintf("statements.%d.member.statement", i+1)

		// A statement that breaks the API model refuses the whole batch; parse has the message.
		if in[i].Statement == nil || *in[i].Statement == "" {
			_, err := in[i].Parse(name)
			return nil, err
		}

		if m.stmt, m.err = in[i].Parse(name); m.err == nil {
			m.err = s.resolveMember(m, in[i].ReturnValuesOnConditionCheckFailure)
		}

		// Any other error, such as a fault of the store, is no answer to a statement.
		var e *wire.Error
		if m.err = asWireError(m.err); m.err != nil && !errors.As(m.err, &e) {
			return nil, m.err
		}

		if m.stmt != nil {
			read := m.stmt.Command == partiql.Select
			reads, writes = reads || read, writes || !read
		}

		key := m.key()
		if key != "" && seen[key] {
			return nil, invalid("Provided list of item keys contains duplicates")
		}
		seen[key] = true
	}

	if reads && writes {
		return nil, invalid("Read and write requests together in the same batch is not supported.")
	}

	return members, nil
}

// key returns the store key of the member's item, empty if it has none.
func (m *batchMember) key() string {
	switch {
	case m.read != nil:
		return string(m.read.key.Bytes)
	case m.action != nil:
		return string(m.action.key.Bytes)
	default:
		return ""
	}
}

// resolveMember sets the item to read or the action.
func (s *Service) resolveMember(m *batchMember, returns string) (err error) {
	switch m.stmt.Command {
	case partiql.Select:
		m.read, err = s.statementRead(m.stmt, "BatchExecuteStatement")
		if err == nil {
			m.table = m.read.table.Name
		}

		return err
	case partiql.Exists:
		return existsAlone()
	}

	if m.action, err = s.statementAction(m.stmt, returns); err != nil {
		return err
	}
	m.table = m.action.table.Name

	return nil
}

// statementRead returns a SELECT as the read of one item. Its WHERE clause must be the
// primary key and nothing else.
func (s *Service) statementRead(stmt *partiql.Statement, operation string) (*itemRead, error) {
	t, err := s.tables.Lookup(&stmt.Table)
	if err != nil {
		return nil, err
	}

	if x := t.State().Record.IndexNamed(stmt.Index); x != nil && x.Keys.IsMulti() {
		return nil, multiKeyStatement()
	}

	whole := invalid("Select statements within %s must specify the primary key in the where clause.", operation)

	// A further condition would be a filter, which these operations do not have.
	if stmt.Index != "" || len(stmt.Where.Conjuncts()) != len(t.Keys.Attrs()) {
		return nil, whole
	}

	if err := statements.CheckKeyPaths(&t.Keys, stmt); err != nil {
		return nil, err
	}

	item, err := statements.Key(&t.Keys, stmt.Where)
	switch {
	case errors.Is(err, statements.ErrNoKey):
		return nil, whole
	case err != nil:
		return nil, err
	}

	key, err := t.KeyOf(item)
	if err != nil {
		return nil, err
	}

	return &itemRead{table: t, key: key, shape: statements.Row(stmt.Columns)}, nil
}

// runMember runs one statement and appends its response.
func (s *Service) runMember(out *answer.Object, m *batchMember, consistent bool, sum capacity.Sum) error {
	response := answer.New(64)

	err := m.err
	if err == nil && m.read != nil {
		err = s.answerMemberRead(response, m.read, consistent, sum)
	} else if err == nil {
		answerMemberWrite(response, m, sum)
	}

	if err != nil {
		var e *wire.Error
		if err = asWireError(err); !errors.As(err, &e) {
			return err
		}

		// A refused statement is a part of the answer and not the error of the call.
		response.Raw("Error", statementError(e))
	}

	if m.table != "" {
		response.Text("TableName", m.table)
	}
	out.Buf = append(out.Buf, response.Done()...)

	return nil
}

func (s *Service) answerMemberRead(out *answer.Object, r *itemRead, consistent bool, sum capacity.Sum) error {
	raw, err := s.read(r.table, r.key)
	if err != nil {
		return err
	}

	units := capacity.Read(raw.Size(), consistent)
	s.charge(r.table.Name, units, 0)
	sum.Add(r.table.Name, capacity.OnTable(units))

	if raw == nil {
		return nil
	}

	return r.add(out, raw)
}

// writeMembers makes the actions of the members with one commit. An action that is refused has its error
// in its member, and does not concern the others.
func (s *Service) writeMembers(members []batchMember) error {
	var hashes []uint64
	for i := range members {
		if m := &members[i]; m.err == nil && m.action != nil {
			hashes = append(hashes, m.action.key.Lock)
		}
	}

	if len(hashes) == 0 {
		return nil
	}

	// The stripes are held until the batch is on disk, so that no writer comes between evaluation and
	// commit.
	defer s.stripes.Lock(hashes)()

	var changes []*change
	for i := range members {
		m := &members[i]
		if m.err != nil || m.action == nil {
			continue
		}

		var e *wire.Error

		m.change, m.err = s.evaluate(m.action)
		if m.err = asWireError(m.err); m.err != nil && !errors.As(m.err, &e) {
			return m.err
		}

		if m.err == nil {
			changes = append(changes, m.change)
		}
	}

	if err := s.writeAll(changes, hashes, s.cfg.Clock.Now(), nil); err != nil {
		return err
	}

	for _, c := range changes {
		s.charge(c.action.table.Name, 0, c.writeUnits())
	}

	return nil
}

func answerMemberWrite(out *answer.Object, m *batchMember, sum capacity.Sum) {
	sum.Add(m.action.table.Name, m.change.spent())

	if attrs := m.change.returnedAttributes(m.stmt.Returning); len(attrs) > 0 {
		out.Item("Item", attrs)
	}
}

// statementError returns the BatchStatementError of an error.
func statementError(e *wire.Error) []byte {
	// The codes are the names of the exceptions without this suffix, except for one.
	code := strings.TrimSuffix(e.Type, "Exception")
	if code == "Validation" {
		code = "ValidationError"
	}

	out := answer.New(64)
	out.Text("Code", code)
	out.Text("Message", e.Message)

	if item, ok := e.Members["Item"].(json.RawMessage); ok {
		out.Raw("Item", item)
	}

	return out.Done()
}
