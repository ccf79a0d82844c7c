package lists

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/ids"
	"ratchet/once/txn"
	"ratchet/transitions"
	"ratchet/workflow"
)

const (
	// shards is how many partitions a list is spread over. It is part of the data format.
	shards = 8
	// maxRaces is how many attempts are made for one order while other writers change its head.
	maxRaces = 10
)

// errHeadMoved says that another writer has written the head since it was read.
var errHeadMoved = errors.New("the order's head has moved")

// Record updates the lists after the change. It is idempotent, and changes nothing if the lists
// show a newer transition of the order. Each call costs one read unit. Placing and a change of
// state cost 6 write units, a change within a state 1. For placing, a customer and a reference
// cost 2 more each.
func (l *Lists) Record(ctx context.Context, c transitions.Change) error {
	return l.list(ctx, c.New)
}

// list makes the lists show the order as given, or as a newer record has shown it.
func (l *Lists) list(ctx context.Context, o *transitions.Order) error {
	return l.race(ctx, o.ID, func(shown head) error {
		switch {
		case shown.transition == 0:
			return l.replace(ctx, o, shown)
		// Either the record is late, or the id was given to a new order. Only the table of orders
		// shows which.
		case shown.isTombstone() || !shown.isOf(o):
			return l.relist(ctx, o.ID, shown)
		case shown.transition >= o.TransitionID:
			return nil
		case shown.state == o.State:
			// The rows stay, so one plain update is enough, at a sixth of the cost.
			return l.raise(ctx, o, shown)
		}

		return l.replace(ctx, o, shown)
	})
}

// replace makes the lists show the order, if the shown head is still there, and not the rows to drop.
func (l *Lists) replace(ctx context.Context, o *transitions.Order, shown head, drop ...row) error {
	return l.write(ctx, change{id: o.ID, shown: shown, next: headOf(o), erased: !o.ErasedAt.IsZero(), drop: drop})
}

// bury makes the lists show that the order was deleted.
func (l *Lists) bury(ctx context.Context, id transitions.OrderID, shown, last head, drop ...row) error {
	return l.write(ctx, change{id: id, shown: shown, next: head{id: id, transition: max(last.transition, 1), life: last.life}, drop: drop})
}

// relist makes the lists show the order that has the id now, instead of an earlier order with
// the same id. If no order has the id, it changes nothing: the record was late.
func (l *Lists) relist(ctx context.Context, id transitions.OrderID, shown head) error {
	o, exists, err := l.cfg.Orders.Get(ctx, id)
	if err != nil || !exists {
		return err
	}

	return l.replace(ctx, o, shown)
}

// Remove takes a deleted order out of the lists. last is the order as it was before the
// deletion. It is idempotent. A tombstone without the order's content stays for 30 days, so
// that late records do not list the order again. It costs two read units and 6 write units,
// and 2 write units more for each of customer and reference.
//
// If a new order has the id, the lists show the new order instead.
func (l *Lists) Remove(ctx context.Context, last *transitions.Order) error {
	return l.race(ctx, last.ID, func(shown head) error {
		if shown.isTombstone() {
			return nil
		}
		gone := headOf(last)

		o, exists, err := l.cfg.Orders.Get(ctx, last.ID)
		switch {
		case err != nil:
			return err
		case exists:
			return l.replace(ctx, o, shown, gone.rows()...)
		}

		// No order has the id: a tombstone stays. What the lists show may be an earlier life of the order, because
		// renewing is no transition, or a later order that was deleted, too, and whose record is still to come.
		return l.bury(ctx, last.ID, shown, gone, gone.rows()...)
	})
}

// race reads the head of the order and calls write. If another writer changes the head between
// the two, race begins again.
func (l *Lists) race(ctx context.Context, id transitions.OrderID, write func(shown head) error) error {
	for range maxRaces {
		shown, err := l.head(ctx, id)
		if err == nil {
			err = write(shown)
		}

		switch {
		case err == nil:
			return nil
		case !errors.Is(err, errHeadMoved):
			return fmt.Errorf("list order %s: %w", id, err)
		}
		// The head may have been moved by this very write, whose answer was lost, or by another
		// record. The next read shows which.
	}

	return fmt.Errorf("list order %s: %w in each of %d attempts", id, errHeadMoved, maxRaces)
}

// raise records in the head that the order has moved within its state.
func (l *Lists) raise(ctx context.Context, o *transitions.Order, shown head) error {
	update := dynamo.NewUpdate(l.cfg.Table, headRow(o.ID).key()).
		IfEquals(headTransition, dynamo.N(int64(shown.transition))).
		IfEquals(headLife, dynamo.S(string(shown.life))).
		SetValue(headTransition, dynamo.N(int64(o.TransitionID)))

	_, err := l.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, failed := dynamo.FailedCondition(err); failed {
		return errHeadMoved
	}

	return err
}

// change is one transaction of an order's rows.
type change struct {
	id          transitions.OrderID
	shown, next head // the head that must be there, and the next one
	erased      bool // the row in the list of the state says so
	drop        []row
	with        func(*txn.Transaction) // adds more parts; may be nil
}

// write writes the next head, provided that the shown head is still there. The same transaction puts the
// rows of the next head and drops the others.
func (l *Lists) write(ctx context.Context, c change) error {
	update := dynamo.NewUpdate(l.cfg.Table, headRow(c.id).key())
	for name, value := range c.next.attributes() {
		update.SetValue(name, value)
	}

	for _, name := range headAttributes {
		if c.next.attributes()[name] == nil {
			update.RemoveAttribute(name)
		}
	}

	// The heads of two orders that have had the same id differ in their life or place.
	if c.shown.transition == 0 {
		update.IfAbsent(headTransition)
	} else {
		update.IfEquals(headTransition, dynamo.N(int64(c.shown.transition))).IfEquals(headLife, dynamo.S(string(c.shown.life)))

		if c.shown.isTombstone() {
			update.IfAbsent(headPlace)
		} else {
			update.IfEquals(headPlace, dynamo.S(c.shown.row.place))
		}
	}

	var t txn.Transaction
	t.AddDecisive("head", types.TransactWriteItem{Update: update.Part()}, txn.FailWith(errHeadMoved))

	shown := c.shown.rows()
	// DynamoDB refuses a transaction with two actions on one item.
	done := map[row]bool{}

	for _, r := range c.next.rows() {
		done[r] = true

		// Only the row in the list of the state has content.
		if slices.Contains(shown, r) && r != c.next.row {
			continue
		}

		item := r.key()
		if c.erased && r == c.next.row {
			item[erasedAttribute] = dynamo.Bool(true)
		}

		t.Add("row", types.TransactWriteItem{Put: &types.Put{TableName: &l.cfg.Table, Item: item}}, nil)
	}

	for _, r := range append(shown, c.drop...) {
		if !done[r] {
			t.Add("former row", types.TransactWriteItem{Delete: &types.Delete{TableName: &l.cfg.Table, Key: r.key()}}, nil)
		}
		done[r] = true
	}

	if c.with != nil {
		c.with(&t)
	}

	return l.writer.Write(ctx, &t)
}

func headRow(id transitions.OrderID) row { return row{"order/" + string(id), "head"} }

// ownerOf returns the text before the colon of the id, "" without a colon.
func ownerOf(id transitions.OrderID) string {
	owner, _, found := strings.Cut(string(id), ":")
	if !found {
		return ""
	}

	return owner
}

func shardOf(id transitions.OrderID) int { return dynamo.Shard(string(id), shards) }

func stateList(id transitions.OrderID, s workflow.State) string {
	return stateShard(ownerOf(id), s, shardOf(id))
}

func stateShard(owner string, s workflow.State, shard int) string {
	return fmt.Sprintf("state/%s/%s/%d", ids.Encode(owner), s, shard)
}

func timeList(id transitions.OrderID) string { return timeShard(ownerOf(id), shardOf(id)) }

func timeShard(owner string, shard int) string {
	return fmt.Sprintf("time/%s/%d", ids.Encode(owner), shard)
}

// customerList has no shards: a customer's orders are few.
func customerList(owner, customer string) string {
	return fmt.Sprintf("customer/%s/%s", ids.Encode(owner), customer)
}

// referenceList has no shards: one order, or a few, have the same reference.
func referenceList(owner, reference string) string {
	return fmt.Sprintf("reference/%s/%s", ids.Encode(owner), reference)
}

// placeAt sorts by time, and by id within a millisecond.
func placeAt(id transitions.OrderID, at time.Time) string {
	return fmt.Sprintf("%013d#%s", max(at.UnixMilli(), 0), id)
}

// orderAt returns the id of the order at the place.
func orderAt(place string) transitions.OrderID {
	_, id, _ := strings.Cut(place, "#")
	return transitions.OrderID(id)
}
