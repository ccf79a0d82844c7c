package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/dynamodb/answer"
	"ratchet/embedded/internal/dynamodb/capacity"
	"ratchet/embedded/internal/dynamodb/keyspace"
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/dynamodb/references"
	"ratchet/embedded/internal/dynamodb/stored"
	"ratchet/embedded/internal/dynamodb/tokens"
	"ratchet/embedded/internal/streams"
	"ratchet/embedded/internal/wire"
)

// The limits of one transaction.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
const (
	maxTransactItems = 100
	maxTransactBytes = 4 << 20
)

// transactAction is one of Put, Update, Delete and ConditionCheck.
type transactAction struct {
	TableName           *string
	Item                attr.Item
	Key                 attr.Item
	UpdateExpression    *string
	ConditionExpression *string
	references.Parameters
	ReturnValuesOnConditionCheckFailure string
}

type transactWriteItem struct {
	Put, Update, Delete, ConditionCheck *transactAction
}

// parts returns the four possible actions, by verb.
func (i *transactWriteItem) parts() [4]*transactAction {
	return [4]*transactAction{put: i.Put, update: i.Update, remove: i.Delete, check: i.ConditionCheck}
}

type transactWriteIn struct {
	TransactItems               []transactWriteItem
	ClientRequestToken          *string
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

// transactWrite performs all actions or none. Transactions and single writes of the same
// items wait for each other, so there is never a TransactionConflict.
func (s *Service) transactWrite(_ context.Context, in *transactWriteIn) (any, error) {
	actions, err := s.transactActions(in)
	if err != nil {
		return nil, err
	}

	changes, replayed, err := s.transact(actions, tokens.New(in.ClientRequestToken, in.digest))
	if err != nil {
		return nil, err
	}

	out := answer.New(0)
	addCollections(out, in.ReturnItemCollectionMetrics, changes)

	return s.transactAnswer(out, in.ReturnConsumedCapacity, changes, replayed), nil
}

func (s *Service) transactActions(in *transactWriteIn) ([]*action, error) {
	if err := in.constrain(s); err != nil {
		return nil, err
	}

	drafts := make([]*action, len(in.TransactItems))
	tables := make([]*string, len(in.TransactItems))
	for i := range in.TransactItems {
		var err error
		if drafts[i], tables[i], err = draftTransacted(&in.TransactItems[i]); err != nil {
			return nil, err
		}
	}

	return collectActions(len(drafts), func(i int) (*action, error) {
		t, err := s.tables.Lookup(tables[i])
		if err != nil {
			return nil, err
		}

		// This check comes after the lookup, because a missing table is reported first.
		if err := in.TransactItems[i].checkUnused(); err != nil {
			return nil, err
		}

		return drafts[i], drafts[i].bind(t)
	})
}

// constrain checks the members against the API model.
// Source: https://github.com/paritysuite/dynamodb-conformance tests/tier3/validation-ordering/transactions.test.ts
func (in *transactWriteIn) constrain(s *Service) error {
	var c model.Constraints
	tokens.Constrain(&c, in.ClientRequestToken)
	c.Capacity(in.ReturnConsumedCapacity)
	c.CollectionMetrics(in.ReturnItemCollectionMetrics)
	c.Count(len(in.TransactItems), in.TransactItems == nil, "transactItems", maxTransactItems)

	for i := range in.TransactItems {
		for v, part := range in.TransactItems[i].parts() {
			if part != nil {
				part.constrain(&c, s, verb(v), i)
			}
		}
	}

	return c.Err()
}

// partNames are the members of a TransactWriteItem, by verb.
var partNames = [4]string{put: "put", update: "update", remove: "delete", check: "conditionCheck"}

// constrain checks the i-th action against the API model.
func (a *transactAction) constrain(c *model.Constraints, s *Service, v verb, i int) {
	// A function, because only a fault needs the text.
	at := func() string { return model.Member("transactItems", i) + "." + partNames[v] }
	if a.TableName == nil || s.tables.Get(*a.TableName) == nil {
		s.tables.ConstrainTable(c, a.TableName, at()+".tableName")
	}

	for _, required := range []struct {
		name    string
		missing bool
	}{
		{".item", v == put && a.Item == nil},
		{".key", v != put && a.Key == nil},
		{".updateExpression", v == update && a.UpdateExpression == nil},
		{".conditionExpression", v == check && a.ConditionExpression == nil},
	} {
		if required.missing {
			c.Missing(at() + required.name)
		}
	}

	if a.ReturnValuesOnConditionCheckFailure != "" {
		c.OneOf(a.ReturnValuesOnConditionCheckFailure, at()+".returnValuesOnConditionCheckFailure", "ALL_OLD", "NONE")
	}
}

// collectActions returns the actions of a transaction. An error about a table's key cancels
// the transaction, any other refuses the request.
func collectActions(n int, actionOf func(i int) (*action, error)) ([]*action, error) {
	actions := make([]*action, n)

	seen := make(map[string]bool, n)
	err := cancelMismatches(n, func(i int) error {
		a, err := actionOf(i)
		if err != nil {
			return err
		}

		// The store key includes the table.
		if seen[string(a.key.Bytes)] {
			return invalid("Transaction request cannot include multiple operations on one item")
		}
		seen[string(a.key.Bytes)] = true
		a.transacted = true
		actions[i] = a

		return nil
	})

	return actions, err
}

// cancelMismatches calls bind for each of the n items of a transaction. Errors about the keys of tables
// cancel the transaction after the last item; any other refuses the request at once.
func cancelMismatches(n int, bind func(i int) error) error {
	failures := make([]*wire.Error, n)
	failed := false
	for i := range n {
		err := bind(i)

		var mismatch *keyspace.Mismatch
		switch {
		// Only noted, because the answer lists the reasons of all items.
		case errors.As(err, &mismatch):
			failures[i], failed = mismatch.Err, true
		case err != nil:
			return err
		}
	}

	if failed {
		return transactionCanceled(failures)
	}

	return nil
}

// checkUnused refuses names and values beside a part without an expression.
func (i *transactWriteItem) checkUnused() error {
	for _, part := range i.parts() {
		if part != nil && part.UpdateExpression == nil && part.ConditionExpression == nil {
			_, err := part.Params("ConditionExpression is", false)
			return err
		}
	}

	return nil
}

// draftTransacted returns the action of one item of a transaction and the name of its table.
func draftTransacted(in *transactWriteItem) (a *action, name *string, err error) {
	kind, only := put, (*transactAction)(nil)
	for v, part := range in.parts() {
		if part == nil {
			continue
		}

		if only != nil {
			return nil, nil, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
		}
		kind, only = verb(v), part
	}

	if only == nil {
		return nil, nil, invalid("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request")
	}

	a = &action{verb: kind, item: only.Item, key: keyspace.Primary{Attrs: only.Key}, values: only.ExpressionAttributeValues.Size(), returnOld: only.ReturnValuesOnConditionCheckFailure == "ALL_OLD"}

	switch {
	case kind == update:
		err = a.setUpdate(only.UpdateExpression, only.ConditionExpression, &only.Parameters)
	// Without expressions, checkUnused looks for names and values later, when the table is known.
	case only.ConditionExpression != nil:
		err = a.setCondition(only.ConditionExpression, &only.Parameters)
	}

	if err != nil {
		return nil, nil, err
	}

	return a, only.TableName, a.checkValues()
}

// transact evaluates and writes all actions while it holds all their stripes. If replayed is
// true, the transaction of the token was made before; the changes then hold the items as
// they are now.
func (s *Service) transact(actions []*action, tok *tokens.Token) (changes []*change, replayed bool, err error) {
	// The capacity has room for the token's lock.
	hashes := make([]uint64, len(actions), len(actions)+1)
	for i, a := range actions {
		hashes[i] = a.key.Lock
	}

	// The token has a stripe, too: of two requests with one token, the second waits and then
	// finds the token used.
	locks := hashes
	if tok != nil {
		locks = append(locks, tok.Lock)
	}
	defer s.stripes.Lock(locks)()

	now := s.cfg.Clock.Now()
	if tok != nil {
		used, same, err := tok.Used(s.db, now)
		switch {
		case err != nil:
			return nil, false, err
		case used && !same:
			return nil, false, wire.Errorf("IdempotentParameterMismatchException",
				"The request uses the same client token as a previous, but non-identical request. Do not reuse a client token with different requests, unless the requests are identical")
		case used:
			changes, err = s.readCurrent(actions)
			return changes, true, err
		}
	}

	if changes, err = s.evaluateAll(actions); err != nil {
		return nil, false, err
	}

	return changes, false, s.writeAll(changes, hashes, now, tok)
}

// readCurrent reads the items of actions without evaluating the actions.
func (s *Service) readCurrent(actions []*action) ([]*change, error) {
	changes := make([]*change, len(actions))
	for i, a := range actions {
		raw, _, err := s.db.Get(a.key.Bytes)
		if err != nil {
			return nil, err
		}
		changes[i] = &change{action: a, oldSize: stored.Item(raw).Size()}
	}

	return changes, nil
}

// evaluateAll evaluates every action, so that the answer lists all that failed.
func (s *Service) evaluateAll(actions []*action) ([]*change, error) {
	changes := make([]*change, len(actions))
	failures := make([]*wire.Error, len(actions))
	failed, bytes := false, 0
	for i, a := range actions {
		c, err := s.evaluate(a)
		if err != nil {
			var e *wire.Error

			// A missing table refuses the whole request and is not the reason of one action.
			if err = asWireError(err); !errors.As(err, &e) || isMissing(err) {
				return nil, err
			}
			failures[i], failed = e, true
			continue
		}
		changes[i] = c
		bytes += c.payload()
	}

	if failed {
		for _, c := range changes {
			if c != nil { // AWS bills the actions that did not fail, too
				s.charge(c.table.Name, 0, c.writeUnits())
			}
		}

		return nil, transactionCanceled(failures)
	}

	if bytes > maxTransactBytes {
		return nil, invalid("The aggregate size of the items in the transaction exceeds 4 MB")
	}

	return changes, nil
}

// payload returns the size of what the request has for the action: the item of a put, and the key and the values
// of any other action. The stored item does not count.
// Source: a suite whose expectations were checked on AWS deletes 50 items of 100 KB in one transaction. How the
// service weighs the values of an update is not recorded.
func (a *action) payload() int {
	if a.verb == put {
		return a.item.Size() + a.values
	}

	return a.key.Attrs.Size() + a.values
}

// writeAll commits the changes that make a difference as one batch. hashes are the hashes of the items, whose
// stripes the caller holds.
func (s *Service) writeAll(changes []*change, hashes []uint64, now time.Time, tok *tokens.Token) error {
	b := s.db.NewBatch()
	var records []streams.Change
	for _, c := range changes {
		if !c.differs() {
			continue
		}

		if record, streamed := c.stage(b); streamed {
			records = append(records, record)
		}
	}

	if tok != nil {
		tok.Stage(b, now)
	}

	// All items stay as they are, and there is no token to store.
	if b.Empty() {
		b.Discard()
		return nil
	}

	// The token's stripe is not marked: a token is read only under its lock.
	defer s.stripes.Dirty(hashes)()

	if err := streams.Commit(b, now, records...); err != nil {
		return err
	}

	for _, c := range changes {
		if c.differs() {
			c.updateCounts()
		}
	}

	return nil
}

// transactionCanceled returns the error of a transaction with a reason for every action, in
// the order of the request. A nil failure is an action that did not fail.
func transactionCanceled(failures []*wire.Error) *wire.Error {
	codes := make([]string, len(failures))
	reasons := []byte{'['}
	for i, f := range failures {
		codes[i] = "None"
		if i > 0 {
			reasons = append(reasons, ',')
		}

		if f == nil {
			reasons = append(reasons, `{"Code":"None"}`...)
			continue
		}

		codes[i] = "ValidationError"
		if f.Type == "ConditionalCheckFailedException" {
			codes[i] = "ConditionalCheckFailed"
		}

		reasons = answer.AppendText(append(append(append(reasons, `{"Code":"`...), codes[i]...), `","Message":`...), f.Message)
		if item, ok := f.Members["Item"].(json.RawMessage); ok {
			reasons = append(append(reasons, `,"Item":`...), item...)
		}
		reasons = append(reasons, '}')
	}
	e := wire.Errorf("TransactionCanceledException",
		"Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", "))

	// The message is there twice: as in every error, and as a member of this one.
	e.Members = map[string]any{"CancellationReasons": json.RawMessage(append(reasons, ']')), "Message": e.Message}

	return e
}

// transactAnswer charges a transaction and returns its answer. A transaction costs double the
// units of its parts; a replay costs reads.
func (s *Service) transactAnswer(out *answer.Object, want string, changes []*change, replayed bool) json.RawMessage {
	kind, sum := "WriteCapacityUnits", capacity.Sum{}
	for _, c := range changes {
		if replayed {
			units := 2 * capacity.Read(c.oldSize, true)
			s.charge(c.table.Name, units, 0)
			kind = "ReadCapacityUnits"
			sum.Add(c.table.Name, capacity.OnTable(units))
			continue
		}
		s.charge(c.table.Name, 0, c.writeUnits())
		sum.Add(c.table.Name, c.spent())
	}
	capacity.AddSum(out, want, sum, kind)

	return out.Done()
}
