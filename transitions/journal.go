package transitions

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// The journal is the history of every order. It has one row per applied transition, with
// the key orderId + entry (incarnation#transitionId), so that every life of an id has a history of its
// own. The row is written once: by the reader of the orders'
// stream or together with the transition (see [JournalMode]).
//
// Each row names the id before it. A reader can therefore tell "never applied" from "not
// written yet": only an unbroken chain of rows proves that an id was skipped. The chain
// begins with placing the order. An order that another program had moved before has no
// rows for the ids until then; its first row is marked as adopted.

// Record writes the change's transition into the journal. If the row exists already, it
// stays as it is and Record returns nil; only a row with the event [Lost] is replaced. Rows that are
// recorded at the same time share a call if DynamoDB has the method BatchExecuteStatement. Record
// fails with [ErrJournalAhead] if the row is of another transition, and without a journal table.
func (o *Orders) Record(ctx context.Context, c Change) error {
	if o.cfg.JournalTable == "" {
		return fmt.Errorf("record transition %d of order %s: no journal table is configured", c.Transition.ID, c.New.ID)
	}
	t := c.Transition

	row := o.journalRow(c.New, t, c.Old)

	done, end := o.journalBatches.write(ctx, row)
	defer end()

	if done {
		return nil
	}

	written, refused, err := dynamo.UntilDecided(ctx, o.cfg.Attempts, func() error {
		_, err := o.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:                           &o.cfg.JournalTable,
			Item:                                row,
			ConditionExpression:                 &absentOrLost,
			ExpressionAttributeNames:            map[string]string{"#lost": "lost"},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})

		return err
	})

	switch {
	case err != nil:
		err = asUnavailable(ctx, err)
	// A row with the same transition is no error: the stream has delivered the record again.
	case refused && !sameTransition(written, row):
		err = fmt.Errorf("%w: it is %s to %s there", ErrJournalAhead, dynamo.Text(written, "event"), dynamo.Text(written, "toState"))
	}

	if err != nil {
		return fmt.Errorf("record transition %d of order %s: %w", t.ID, c.New.ID, err)
	}

	return nil
}

// sameTransition compares what no writer changes later in the rows of one id: not who asked for it, which an
// erasure removes. Of a transition that another program has made, only the state is known.
func sameTransition(a, b image) bool {
	event, other := dynamo.Text(a, "event"), dynamo.Text(b, "event")
	known := func(event string) bool { return event != "" && event != "-" } // an image of the past has "-" (see ring.go)

	return dynamo.Text(a, "toState") == dynamo.Text(b, "toState") &&
		(!known(event) && !known(other) || event == other && dynamo.Number(a, "at") == dynamo.Number(b, "at"))
}

// absentOrLost is the condition that there is no row, or that the row stands for lost rows.
var absentOrLost = "attribute_not_exists(orderId) OR attribute_exists(#lost)"

// journalRow returns the row of a transition. after is the order as the transition left it, old the order before
// it, nil for placing.
func (o *Orders) journalRow(after *Order, t Transition, old *Order) image {
	var previous TransitionID
	var before Attributes
	if old != nil {
		previous, before = old.TransitionID, old.Own
	}

	l := after.life()
	row := transitionRow(l, t)
	if lives := l.value(); lives != nil {
		row[livesAttribute] = lives
	}
	row["previousId"] = dynamo.N(int64(previous))
	row["definitionVersion"] = dynamo.N(int64(after.DefinitionVersion))

	if o.cfg.JournalOwn {
		difference(before, after.Own).addTo(row)
	}
	// Without a ring, another program has made the earlier transitions.
	if previous > 0 && old.ring == ([ringSize]Transition{}) {
		row["adopted"] = dynamo.Bool(true)
	}

	return row
}

// rowOwnDigest is the digest of the changes of own attributes in a row of the journal or of the requests. rowSet and
// rowRemoved are the changes themselves, in a row of the journal (see [Config].JournalOwn).
const (
	rowOwnDigest = "ownHash"
	rowSet       = "ownSet"
	rowRemoved   = "ownRemoved"
)

// addTo adds the changes of own attributes to a row.
func (c OwnChange) addTo(row image) {
	if len(c.Set) > 0 {
		row[rowSet] = dynamo.M(c.Set)
	}

	if len(c.Remove) > 0 {
		row[rowRemoved] = dynamo.SS(c.Remove...)
	}
}

// ownChange is the inverse of addTo.
func (r *reader) ownChange(row image) (c OwnChange) {
	c.Set = r.members(row, rowSet)
	if removed, ok := row[rowRemoved].(*types.AttributeValueMemberSS); ok {
		c.Remove = slices.Sorted(slices.Values(removed.Value))
	}

	return c
}

// transitionRow returns a row with everything about the transition that is known, except for the
// call id.
func transitionRow(l life, t Transition) image {
	row := image{
		"orderId":      dynamo.S(string(l.id)),
		entryAttribute: dynamo.S(l.incarnation.entry(t.ID)),
		"transitionId": dynamo.N(int64(t.ID)),
		"event":        dynamo.S(string(t.Event)),
		"toState":      dynamo.S(string(t.To)),
		"at":           dynamo.N(t.At.UnixMilli()),
	}
	if t.From != "" {
		row["fromState"] = dynamo.S(string(t.From))
	}

	if t.request != (digest{}) {
		row["req"] = t.request.value()
	}

	if t.own != (digest{}) {
		row[rowOwnDigest] = t.own.value()
	}

	if t.assigned {
		row["assigned"] = dynamo.Bool(true)
	}

	if t.narrowed {
		row["narrowed"] = dynamo.Bool(true)
	}
	t.Cause.addTo(row, l.id)

	return row
}

// History returns up to limit transitions of the order with an id above after, oldest
// first; 0 is no limit. It reads the journal, which with JournalByStream may be behind the
// order. An id that was used before has the history of the present order; if the order is gone, of the
// newest one. It fails without a journal table.
func (o *Orders) History(ctx context.Context, id OrderID, after TransitionID, limit int) ([]Transition, error) {
	if o.cfg.JournalTable == "" {
		return nil, fmt.Errorf("history of order %s: no journal table is configured", id)
	}
	var out []Transition

	l, found, err := o.lifeOf(ctx, id)
	if err == nil && found {
		err = o.journal(ctx, l, after+1, limit, func(row Row) bool {
			out = append(out, row.Transition)
			return limit <= 0 || len(out) < limit
		})
	}

	if err != nil {
		return nil, fmt.Errorf("history of order %s: %w", id, err)
	}

	return out, nil
}

// journal calls fn for the rows of an order from the id on, oldest first, until fn returns
// false. It reads up to page rows at a time; 0 leaves that to DynamoDB.
func (o *Orders) journal(ctx context.Context, l life, from TransitionID, page int, fn func(Row) bool) error {
	for _, s := range l.spans() {
		if s.upTo != 0 && s.upTo < from {
			continue
		}

		more, err := o.journalOf(ctx, l.id, s, from, page, fn)
		if err != nil || !more {
			return err
		}
		// A later life has rows above the end of this one only.
		from = max(from, s.upTo+1)
	}

	return nil
}

// journalOf is journal for one life. It reports whether fn wants more rows.
func (o *Orders) journalOf(ctx context.Context, id OrderID, s span, from TransitionID, page int, fn func(Row) bool) (more bool, err error) {
	condition, consistent := "orderId = :order AND "+entryAttribute+" BETWEEN :from AND :to", true
	last := cmp.Or(s.upTo, 1e16-1)

	input := &dynamodb.QueryInput{
		TableName:              &o.cfg.JournalTable,
		KeyConditionExpression: &condition,
		ConsistentRead:         &consistent,
		ExpressionAttributeValues: image{
			":order": dynamo.S(string(id)),
			":from":  dynamo.S(s.incarnation.entry(from)),
			":to":    dynamo.S(s.incarnation.entry(max(from, last))),
		},
	}
	if page > 0 {
		// page may be any limit of a caller. The rest comes with the next pages.
		limit := int32(min(page, 1000))
		input.Limit = &limit
	}

	for {
		out, err := o.cfg.DynamoDB.Query(ctx, input)
		if err != nil {
			return false, asUnavailable(ctx, err)
		}

		for _, item := range out.Items {
			row, err := decodeRow(item)
			if err != nil {
				return false, err
			}
			row.life = s.incarnation

			if !fn(row) {
				return false, nil
			}
		}

		if input.ExclusiveStartKey = out.LastEvaluatedKey; len(input.ExclusiveStartKey) == 0 {
			return true, nil
		}
	}
}

// decodeRow reads a row of the journal. A row that cannot be read is a JournalError.
func decodeRow(item image) (Row, error) {
	r := reader{}
	row := Row{
		Transition:        r.transition(item),
		PreviousID:        TransitionID(r.number(item, "previousId")),
		DefinitionVersion: int(r.number(item, "definitionVersion")),
		Own:               r.ownChange(item),
		adopted:           item["adopted"] != nil,
		lost:              item["lost"] != nil,
	}
	if r.err != nil {
		return Row{}, &JournalError{At: row.ID, Unreadable: true, What: r.err.Error()}
	}

	return row, nil
}

// transition is the inverse of transitionRow.
func (r *reader) transition(row image) Transition {
	return Transition{
		ID:       TransitionID(r.number(row, "transitionId")),
		Event:    workflow.Event(r.text(row, "event")),
		From:     workflow.State(r.optional(row, "fromState")),
		To:       workflow.State(r.text(row, "toState")),
		At:       r.time(row, "at"),
		request:  r.digest(row, "req"),
		own:      r.digest(row, rowOwnDigest),
		assigned: row["assigned"] != nil,
		narrowed: row["narrowed"] != nil,
		Cause:    r.cause(row),
	}
}
