package lists

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
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

// head is the lists' record of an order: the newest transition that they show, and where.
type head struct {
	transition transitions.TransitionID // 0 if the order was never listed
	state      workflow.State           // empty if the order was deleted
	row        row                      // in the list of the state
	placed     string                   // the place of placing; empty if the order was never listed or was deleted
	erased     bool                     // the row in the list of the state says so; not read back
}

// isTombstone reports whether the order was deleted.
func (h head) isTombstone() bool { return h.transition != 0 && h.state == "" }

// isOf reports whether the head may show this order, and not another order that has or had the
// same id. A head that shows no order matches every order. Two orders that were placed within
// the same millisecond cannot be told apart.
func (h head) isOf(o *transitions.Order) bool {
	return h.transition == 0 || h.placed == placeAt(o.ID, o.CreatedAt)
}

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
			return l.replace(ctx, o.ID, shown, headOf(o), rowsOf(o), nil)
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
		next := headOf(o)

		return l.replace(ctx, o.ID, shown, next, []row{next.row}, []row{shown.row})
	})
}

// relist makes the lists show the order that has the id now, instead of an earlier order with
// the same id. If no order has the id, it changes nothing: the record was late.
func (l *Lists) relist(ctx context.Context, id transitions.OrderID, shown head) error {
	o, exists, err := l.cfg.Orders.Get(ctx, id)
	if err != nil || !exists {
		return err
	}

	return l.replace(ctx, id, shown, headOf(o), rowsOf(o), shown.rows())
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
		gone := rowsOf(last)

		o, exists, err := l.cfg.Orders.Get(ctx, last.ID)
		switch {
		case err != nil:
			return err
		case exists:
			return l.replace(ctx, last.ID, shown, headOf(o), rowsOf(o), append(gone, shown.rows()...))
		// The lists show the deleted order, and no other order has the id: a tombstone stays.
		case shown.isOf(last):
			return l.replace(ctx, last.ID, shown, head{transition: last.TransitionID}, nil, append(gone, shown.rows()...))
		}

		// A later order had the id and was deleted, too. The record of that deletion is still to
		// come, so its rows stay until then.
		return l.replace(ctx, last.ID, shown, shown, shown.rows(), gone)
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
		IfEquals("transitionId", dynamo.N(int64(shown.transition))).
		SetValue("transitionId", dynamo.N(int64(o.TransitionID)))

	_, err := l.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, failed := dynamo.FailedCondition(err); failed {
		return errHeadMoved
	}

	return err
}

// replace writes the next head of the order, provided that the shown head is still there. The same
// transaction puts and drops rows; a row in both lists stays. More parts may join the transaction.
func (l *Lists) replace(ctx context.Context, id transitions.OrderID, shown, next head, put, drop []row, with ...func(*txn.Transaction)) error {
	update := dynamo.NewUpdate(l.cfg.Table, headRow(id).key()).
		SetValue("transitionId", dynamo.N(int64(next.transition)))

	if next.isTombstone() {
		update.RemoveAttribute("orderState").RemoveAttribute("stateList").RemoveAttribute("statePlace").RemoveAttribute("placed").
			SetValue(ExpiryAttribute, dynamo.Seconds(time.Now().Add(tombstoneFor)))
	} else {
		update.SetValue("orderState", dynamo.S(string(next.state))).
			SetValue("stateList", dynamo.S(next.row.list)).
			SetValue("statePlace", dynamo.S(next.row.place)).
			SetValue("placed", dynamo.S(next.placed)).
			RemoveAttribute(ExpiryAttribute)
	}

	// The heads of two orders that have had the same id differ in their place.
	switch {
	case shown.transition == 0:
		update.IfAbsent("transitionId")
	case shown.isTombstone():
		update.IfEquals("transitionId", dynamo.N(int64(shown.transition))).IfAbsent("statePlace")
	default:
		update.IfEquals("transitionId", dynamo.N(int64(shown.transition))).IfEquals("statePlace", dynamo.S(shown.row.place))
	}

	var t txn.Transaction
	t.AddDecisive("head", types.TransactWriteItem{Update: update.Part()}, txn.FailWith(errHeadMoved))

	// DynamoDB refuses a transaction with two actions on one item.
	done := map[row]bool{}
	for _, r := range put {
		item := r.key()
		if next.erased && r == next.row {
			item[erasedAttribute] = dynamo.Bool(true)
		}

		t.Add("row", types.TransactWriteItem{Put: &types.Put{TableName: &l.cfg.Table, Item: item}}, nil)
		done[r] = true
	}

	for _, r := range drop {
		if !done[r] {
			t.Add("former row", types.TransactWriteItem{Delete: &types.Delete{TableName: &l.cfg.Table, Key: r.key()}}, nil)
		}
		done[r] = true
	}

	for _, add := range with {
		add(&t)
	}

	return l.writer.Write(ctx, &t)
}

// head reads the order's head.
func (l *Lists) head(ctx context.Context, id transitions.OrderID) (head, error) {
	item, err := l.get(ctx, headRow(id), true)
	if err != nil {
		return head{}, err
	}

	return head{
		transition: transitions.TransitionID(dynamo.Number(item, "transitionId")),
		state:      workflow.State(dynamo.Text(item, "orderState")),
		row:        row{dynamo.Text(item, "stateList"), dynamo.Text(item, "statePlace")},
		placed:     dynamo.Text(item, "placed"),
	}, nil
}

// headOf returns the head that shows the order.
func headOf(o *transitions.Order) head {
	return head{o.TransitionID, o.State, row{stateList(o.ID, o.State), placeAt(o.ID, o.EnteredAt())}, placeAt(o.ID, o.CreatedAt), !o.ErasedAt.IsZero()}
}

// rows returns the row that the head names, if there is one.
func (h head) rows() []row {
	if h.state == "" {
		return nil
	}

	return []row{h.row}
}

// rowsOf returns the rows of the order in all lists.
func rowsOf(o *transitions.Order) []row {
	placed := placeAt(o.ID, o.CreatedAt)

	rows := []row{headOf(o).row, {timeList(o.ID), placed}}
	if o.Customer != "" {
		rows = append(rows, row{customerList(ownerOf(o.ID), o.Customer), placed})
	}

	if o.Reference != "" {
		rows = append(rows, row{referenceList(ownerOf(o.ID), o.Reference), placed})
	}

	return rows
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
	return fmt.Sprintf("state/%s/%s/%d", owner, s, shard)
}

func timeList(id transitions.OrderID) string { return timeShard(ownerOf(id), shardOf(id)) }

func timeShard(owner string, shard int) string { return fmt.Sprintf("time/%s/%d", owner, shard) }

// customerList has no shards: a customer's orders are few.
func customerList(owner, customer string) string {
	return fmt.Sprintf("customer/%s/%s", owner, customer)
}

// referenceList has no shards: one order, or a few, have the same reference.
func referenceList(owner, reference string) string {
	return fmt.Sprintf("reference/%s/%s", owner, reference)
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
