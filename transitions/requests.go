package transitions

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// The table of requests has one row for each request id that has left the ring of its order.
// The row says which transition was made under it. Its key is the order's id and the digest
// of its incarnation and the request id, so one read tells whether a request was applied long ago.
//
// A row is written before the transition that overwrites its slot: no write overwrites a
// slot with a request id that has no row. A writer that knows the order writes the row, and
// its update requires that the order has not moved since. A writer that does not know the
// order requires that the slot has no request id. A row is true even if its writer crashes
// before the update, because the row only repeats the slot.
//
// Two attributes of the order say for which transitions this rule was kept:
//
//	reqAt     the id of the newest transition whose writer has kept the rule
//	reqAfter  the rule was kept after this id; absent for 0
//
// If reqAt is not the order's transitionId, a writer without a table of requests has moved
// the order. Requests that the ring had forgotten by then may have no row, and must be looked for in
// the journal.
const (
	requestsAt    = "reqAt"
	requestsAfter = "reqAfter"
)

// keepsRequests reports whether there is a table of requests.
func (o *Orders) keepsRequests() bool { return o.cfg.RequestsTable != "" }

// vacant is, for each slot, the condition under which a writer that does not know the slot may
// overwrite it: it has no request id, and every writer so far has kept the rule.
var vacant = func() (out [ringSize]string) {
	for k := range out {
		out[k] = " AND " + requestsAt + " = transitionId AND attribute_not_exists(recent.r" + strconv.Itoa(k) + ")"
	}

	return out
}()

// keepRequest prepares the step to overwrite a slot of the ring. If the slot of base, the
// order as it was read, has a request id, keepRequest returns its row, which must be written before.
func (o *Orders) keepRequest(w *step, base *Order) (row image) {
	id := w.transition.ID
	if !o.keepsRequests() || id <= ringSize {
		return nil // no earlier transition can have used the slot
	}

	if base == nil {
		// If the slot is not vacant, the refused write returns the order, and the next round knows it.
		w.blind = true
		return nil
	}

	// A writer without a table of requests came before: the order must say from which id on rows
	// exist.
	if unrecorded := base.unrecorded(); unrecorded > base.requestsAfter {
		w.requestsAfter = unrecorded
	}

	leaving := base.ring[id%ringSize]
	// Neither transition has a request id: there is no row to write, and none was searched for.
	// So the order may move in between, and the condition on the slot is enough.
	if leaving.request == (digest{}) && w.transition.request == (digest{}) && base.requestsKept() {
		w.blind = true
		return nil
	}
	// The row below and the search for the request are about the order as it was read.
	w.request.IfMatch = &base.TransitionID

	if leaving.request == (digest{}) {
		return nil
	}

	return requestRow(base.life(), leaving)
}

// keep writes a row of the table of requests. It has no condition: every writer of this row writes the
// same, so a repeat changes nothing.
func (o *Orders) keep(ctx context.Context, row image) error {
	if row == nil {
		return nil
	}

	_, err := o.beside(ctx, func() error {
		_, err := o.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &o.cfg.RequestsTable, Item: row})
		return err
	})
	if err != nil {
		return fmt.Errorf("keep the request id of transition %d: %w", dynamo.Number(row, "transitionId"), err)
	}

	return nil
}

// unrecorded returns the id up to which transitions that the ring has forgotten may have no
// row in the table of requests.
func (o *Order) unrecorded() TransitionID {
	// A slot that cannot be read has lost its request without a row.
	if o.requestsKept() && o.broken == ([ringSize]bool{}) {
		return o.requestsAfter
	}

	// It is not known how many transitions were made without rows, so all forgotten ones count.
	return o.oldestForgotten()
}

// requestsKept reports whether the writer of the newest transition has kept the rule.
func (o *Order) requestsKept() bool { return o.TransitionID != 0 && o.requestsAt == o.TransitionID }

// forgottenRequest looks for the request among the transitions that the order's ring no
// longer holds.
func (p *move) forgottenRequest(ctx context.Context, order *Order) (t Transition, found bool, err error) {
	o, forgotten := p.orders, order.oldestForgotten()
	if o.keepsRequests() {
		if t, found, err = o.findRequest(ctx, order.life(), p.key); err != nil || found {
			return t, found, err
		}
		// The rows of an earlier life whose name cannot be read were not looked at.
		if order.Readable(livesAttribute) == nil {
			forgotten = order.unrecorded()
		}
	}

	// Every forgotten request has a row: no row means that it was never applied.
	if forgotten == 0 {
		return Transition{}, false, nil
	}

	// Every row of the chain must be there, or nothing is proved.
	err = o.chain(ctx, order, forgotten, func(made Transition) bool {
		if found = made.request == p.key; found {
			t = made
		}

		return !found
	})

	return t, found, err
}

// requestKey is the sort key of a request's row. It tells the lives of an id apart.
func requestKey(i Incarnation, request digest) digest { return digestOf(string(i), string(request[:])) }

// requestRow returns the row of the transition, which has a request id.
func requestRow(l life, t Transition) image {
	row := transitionRow(l, t)
	delete(row, entryAttribute)
	row["req"] = requestKey(l.incarnation, t.request).value()

	return row
}

// findRequest reads the row of a request in the life of the order, and in the lives that it continues.
func (o *Orders) findRequest(ctx context.Context, l life, key digest) (Transition, bool, error) {
	for _, s := range slices.Backward(l.spans()) {
		t, found, err := o.readRequest(ctx, l.id, s.incarnation, key)
		// A transition beyond the end of the earlier life is not one of this order.
		if err != nil || found && (s.upTo == 0 || t.ID <= s.upTo) {
			return t, found, err
		}
	}

	return Transition{}, false, nil
}

// readRequest reads the row of a request in one life.
func (o *Orders) readRequest(ctx context.Context, id OrderID, i Incarnation, key digest) (Transition, bool, error) {
	// Consistent: the row may have been written just before the update that returned the order.
	out, err := o.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &o.cfg.RequestsTable,
		Key:            image{"orderId": dynamo.S(string(id)), "req": requestKey(i, key).value()},
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return Transition{}, false, fmt.Errorf("look for the request id: %w", asUnavailable(ctx, err))
	}

	if len(out.Item) == 0 {
		return Transition{}, false, nil
	}

	r := reader{}
	t := r.transition(out.Item)
	t.request = key // the row has the digest of its key

	if r.err != nil {
		return Transition{}, false, fmt.Errorf("read the row of the request id: %w", r.err)
	}

	return t, true, nil
}
