package lists

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/transitions"
	"ratchet/txn"
	"ratchet/workflow"
)

const (
	// shards is how many partitions a list is spread over. It is part of the data format.
	shards = 8
	// maxRaces bounds how often one order is tried while others write its head.
	maxRaces = 10
)

// errHeadMoved says that another writer has written the head since it was read.
var errHeadMoved = errors.New("the order's head has moved")

// head is what the lists show of an order.
type head struct {
	transition transitions.TransitionID // 0 if the order is not listed
	state      workflow.State
	row        row // in the list of the state
}

// Record writes what the change means for the lists. It is idempotent, and changes nothing
// if the lists show a newer transition of the order. A change costs one read unit and 6
// write units, within a state one write unit.
func (l *Lists) Record(ctx context.Context, c transitions.Change) error {
	return l.list(ctx, c.New)
}

// list makes the lists show the order as it is given, or newer.
func (l *Lists) list(ctx context.Context, o *transitions.Order) error {
	for range maxRaces {
		shown, err := l.head(ctx, o.ID)
		if err != nil {
			return fmt.Errorf("list order %s: %w", o.ID, err)
		}

		switch {
		case shown.transition >= o.TransitionID:
			return nil
		case shown.state == o.State:
			err = l.raise(ctx, o, shown)
		default:
			err = l.move(ctx, o, shown)
		}

		if err == nil {
			return nil
		}

		// The next read decides whether it was this write, an older one or a newer one.
		if !errors.Is(err, errHeadMoved) {
			return fmt.Errorf("list order %s: %w", o.ID, err)
		}
	}

	return fmt.Errorf("list order %s: %w in each of %d attempts", o.ID, errHeadMoved, maxRaces)
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

// move moves the order from the list that it is shown in to that of its state.
func (l *Lists) move(ctx context.Context, o *transitions.Order, shown head) error {
	place := row{stateList(o.ID, o.State), placeAt(o.ID, entered(o))}

	update := dynamo.NewUpdate(l.cfg.Table, headRow(o.ID).key()).
		SetValue("transitionId", dynamo.N(int64(o.TransitionID))).
		SetValue("orderState", dynamo.S(string(o.State))).
		SetValue("stateList", dynamo.S(place.list)).
		SetValue("statePlace", dynamo.S(place.place))

	if shown.transition == 0 {
		update.IfAbsent("transitionId")
	} else {
		update.IfEquals("transitionId", dynamo.N(int64(shown.transition)))
	}

	var t txn.Transaction
	t.AddDecisive("head", types.TransactWriteItem{Update: update.Part()}, txn.FailWith(errHeadMoved))
	t.Add("place", types.TransactWriteItem{Put: l.put(place)}, nil)

	if shown.transition == 0 {
		created := row{timeList(o.ID), placeAt(o.ID, o.CreatedAt)}
		t.Add("time", types.TransactWriteItem{Put: l.put(created)}, nil)
	} else {
		t.Add("former", types.TransactWriteItem{Delete: &types.Delete{TableName: &l.cfg.Table, Key: shown.row.key()}}, nil)
	}

	return l.writer.Write(ctx, &t)
}

func (l *Lists) put(r row) *types.Put { return &types.Put{TableName: &l.cfg.Table, Item: r.key()} }

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
	}, nil
}

func headRow(id transitions.OrderID) row { return row{"order/" + string(id), "head"} }

// ownerOf returns what stands before the colon of the id, "" without one.
func ownerOf(id transitions.OrderID) string {
	owner, _, found := strings.Cut(string(id), ":")
	if !found {
		return ""
	}

	return owner
}

func shardOf(id transitions.OrderID) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // a hash does not fail

	return int(h.Sum32() % shards)
}

func stateList(id transitions.OrderID, s workflow.State) string {
	return stateShard(ownerOf(id), s, shardOf(id))
}

func stateShard(owner string, s workflow.State, shard int) string {
	return fmt.Sprintf("state/%s/%s/%d", owner, s, shard)
}

func timeList(id transitions.OrderID) string { return timeShard(ownerOf(id), shardOf(id)) }

func timeShard(owner string, shard int) string { return fmt.Sprintf("time/%s/%d", owner, shard) }

// placeAt sorts by time, and by id within a millisecond.
func placeAt(id transitions.OrderID, at time.Time) string {
	return fmt.Sprintf("%013d#%s", max(at.UnixMilli(), 0), id)
}

// orderAt returns the id of the order at the place.
func orderAt(place string) transitions.OrderID {
	_, id, _ := strings.Cut(place, "#")
	return transitions.OrderID(id)
}

// entered returns when the order has entered its state, or, if its ring does not go back so
// far, when it was written last.
func entered(o *transitions.Order) time.Time {
	for _, t := range slices.Backward(o.Recent()) {
		if t.To == o.State && t.From != o.State {
			return t.At
		}
	}

	return o.UpdatedAt
}
