package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/streams"
	"ratchet/embedded/internal/wire"
)

// Limits of one transaction.
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
	expressionIn
	ReturnValuesOnConditionCheckFailure string
}

type transactWriteItem struct {
	Put, Update, Delete, ConditionCheck *transactAction
}

// parts is the four possible actions, by verb.
func (i *transactWriteItem) parts() [4]*transactAction {
	return [4]*transactAction{put: i.Put, update: i.Update, remove: i.Delete, check: i.ConditionCheck}
}

type transactWriteIn struct {
	TransactItems               []transactWriteItem
	ClientRequestToken          *string
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

// transactWrite carries all actions out or none. Transactions and single writes
// of the same items wait for each other, so TransactionConflict never arises.
func (s *Service) transactWrite(_ context.Context, in *transactWriteIn) (any, error) {
	actions, err := s.transactActions(in)
	if err != nil {
		return nil, err
	}

	var tok *token
	if in.ClientRequestToken != nil {
		if n := len(*in.ClientRequestToken); n < 1 || n > 36 {
			return nil, wire.BadParameter("'"+*in.ClientRequestToken+"'", "clientRequestToken", "Member must have length between 1 and 36")
		}
		tok = newToken(*in.ClientRequestToken, in)
	}

	changes, replayed, err := s.transact(actions, tok)
	if err != nil {
		return nil, err
	}

	return s.transactAnswer(in.ReturnConsumedCapacity, changes, replayed), nil
}

func (s *Service) transactActions(in *transactWriteIn) ([]*action, error) {
	if err := checkCapacity(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}

	if err := wire.OneOf(in.ReturnItemCollectionMetrics, "returnItemCollectionMetrics", "SIZE", "NONE"); err != nil {
		return nil, err
	}

	if err := checkCount(len(in.TransactItems), in.TransactItems == nil, "transactItems", maxTransactItems); err != nil {
		return nil, err
	}
	actions := make([]*action, len(in.TransactItems))

	seen := make(map[string]bool, len(actions))
	failures := make([]*wire.Error, len(actions))
	failed := false
	for i := range in.TransactItems {
		a, err := s.transactAction(&in.TransactItems[i])
		var mismatch *schemaError
		if errors.As(err, &mismatch) {
			failures[i], failed = mismatch.refusal, true
			continue
		}

		if err != nil {
			return nil, err
		}

		if seen[string(a.key.bytes)] {
			return nil, invalid("Transaction request cannot include multiple operations on one item")
		}
		seen[string(a.key.bytes)] = true
		a.transacted = true
		actions[i] = a
	}

	if failed {
		return nil, canceled(failures)
	}

	return actions, nil
}

func checkCount(n int, missing bool, parameter string, most int) error {
	switch {
	case missing:
		return wire.Missing(parameter)
	case n < 1:
		return wire.BadParameter("'[]'", parameter, "Member must have length greater than or equal to 1")
	case n > most:
		return wire.BadParameter(fmt.Sprintf("'[%d members]'", n), parameter, fmt.Sprintf("Member must have length less than or equal to %d", most))
	}

	return nil
}

func (s *Service) transactAction(in *transactWriteItem) (a *action, err error) {
	kind, only := put, (*transactAction)(nil)
	for v, part := range in.parts() {
		if part == nil {
			continue
		}

		if only != nil {
			return nil, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
		}
		kind, only = verb(v), part
	}

	if only == nil {
		return nil, invalid("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request")
	}

	if err := checkOnFailure(only.ReturnValuesOnConditionCheckFailure); err != nil {
		return nil, err
	}

	t, err := s.lookup(only.TableName)
	if err != nil {
		return nil, err
	}

	switch kind {
	case put:
		a, err = newPut(t, only.Item)
	case update:
		if only.UpdateExpression == nil {
			return nil, wire.Missing("transactItems.1.member.update.updateExpression")
		}
		a, err = newUpdate(t, only.Key, only.UpdateExpression, only.ConditionExpression, &only.expressionIn)
	default:
		if kind == check && only.ConditionExpression == nil {
			return nil, wire.Missing("transactItems.1.member.conditionCheck.conditionExpression")
		}
		a, err = newKeyed(kind, t, only.Key)
	}

	if err != nil {
		return nil, err
	}

	a.returnOld = only.ReturnValuesOnConditionCheckFailure == "ALL_OLD"
	if kind == update {
		return a, nil
	}

	return a, a.conditioned(only.ConditionExpression, &only.expressionIn)
}

// transact judges and writes all actions under all their stripes. replayed
// tells that the token's transaction had been carried out before; the changes
// then hold the items as they are now.
func (s *Service) transact(actions []*action, tok *token) (changes []*change, replayed bool, err error) {
	hashes := make([]uint64, len(actions), len(actions)+1)
	for i, a := range actions {
		hashes[i] = a.key.lock
	}

	locks := hashes
	if tok != nil {
		locks = append(locks, tok.lock)
	}
	defer s.stripes.lock(locks)()

	now := time.Now()
	if tok != nil {
		used, same, err := s.seen(tok, now)
		switch {
		case err != nil:
			return nil, false, err
		case used && !same:
			return nil, false, wire.Errorf("IdempotentParameterMismatchException",
				"The request uses the same client token as a previous, but non-identical request. Do not reuse a client token with different requests, unless the requests are identical")
		case used:
			changes, err = s.current(actions)
			return changes, true, err
		}
	}

	if changes, err = s.judgeAll(actions); err != nil {
		return nil, false, err
	}

	return changes, false, s.writeAll(changes, hashes, now, tok)
}

// current reads the items of actions without judging them.
func (s *Service) current(actions []*action) ([]*change, error) {
	changes := make([]*change, len(actions))
	for i, a := range actions {
		raw, _, err := s.db.Get(a.key.bytes)
		if err != nil {
			return nil, err
		}
		changes[i] = &change{action: a, oldSize: stored(raw).size()}
	}

	return changes, nil
}

// judgeAll judges every action, so that the answer names all that failed.
func (s *Service) judgeAll(actions []*action) ([]*change, error) {
	changes := make([]*change, len(actions))
	failures := make([]*wire.Error, len(actions))
	failed, bytes := false, 0
	for i, a := range actions {
		c, err := s.judge(a)
		if err != nil {
			var e *wire.Error
			if err = refusal(err); !errors.As(err, &e) || isMissing(err) {
				return nil, err
			}
			failures[i], failed = e, true
			continue
		}
		changes[i] = c
		bytes += max(c.oldSize, c.newSize)
	}

	if failed {
		for _, c := range changes {
			if c != nil { // it was prepared, and paid for
				s.charge(c.table.name, 0, c.writeUnits())
			}
		}

		return nil, canceled(failures)
	}

	if bytes > maxTransactBytes {
		return nil, invalid("The aggregate size of the items in the transaction exceeds 4 MB")
	}

	return changes, nil
}

// writeAll puts the changes that change anything into one batch. The caller
// holds the stripes of hashes, which are the items'.
func (s *Service) writeAll(changes []*change, hashes []uint64, now time.Time, tok *token) error {
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
		tok.stage(b, now)
	}

	if b.Empty() {
		b.Discard()
		return nil
	}
	defer s.stripes.dirty(hashes)()

	if err := streams.Commit(b, now, records...); err != nil {
		return err
	}

	for _, c := range changes {
		if c.differs() {
			c.account()
		}
	}

	return nil
}

// canceled is the refusal of a transaction with the reason of every action, in
// the order of the request.
func canceled(failures []*wire.Error) *wire.Error {
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

		reasons = appendText(append(append(append(reasons, `{"Code":"`...), codes[i]...), `","Message":`...), f.Message)
		if item, ok := f.Members["Item"].(json.RawMessage); ok {
			reasons = append(append(reasons, `,"Item":`...), item...)
		}
		reasons = append(reasons, '}')
	}
	e := wire.Errorf("TransactionCanceledException",
		"Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", "))
	e.Members = map[string]any{"CancellationReasons": json.RawMessage(append(reasons, ']')), "Message": e.Message}

	return e
}

// transactAnswer tells what a transaction cost: twice the units of its parts;
// a replay costs reads.
func (s *Service) transactAnswer(want string, changes []*change, replayed bool) json.RawMessage {
	kind, sum := "WriteCapacityUnits", map[string]halves{}
	for _, c := range changes {
		if replayed {
			units := 2 * readUnits(c.oldSize, true)
			s.charge(c.table.name, units, 0)
			kind, sum[c.table.name] = "ReadCapacityUnits", sum[c.table.name]+units
			continue
		}
		s.charge(c.table.name, 0, c.writeUnits())
		sum[c.table.name] += c.writeUnits()
	}
	out := newAnswer(0)
	out.consumedBy(want, sum, kind)

	return out.done()
}

// consumedBy adds the ConsumedCapacity of several tables to the answer.
func (a *answer) consumedBy(want string, sum map[string]halves, kind string) {
	if want != "TOTAL" && want != "INDEXES" {
		return
	}
	a.name("ConsumedCapacity")

	a.buf = append(a.buf, '[')
	for i, name := range slices.Sorted(maps.Keys(sum)) {
		if i > 0 {
			a.buf = append(a.buf, ',')
		}
		a.buf = appendConsumed(a.buf, want, name, sum[name], kind)
	}
	a.buf = append(a.buf, ']')
}
