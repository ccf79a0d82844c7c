package tasktoken

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
)

// Retention is how long the row of an order is kept after a transition was recorded in it:
// longer than an execution lives (a year) and may be redriven (14 days), so that no attempt
// finds the row gone.
const Retention = 400 * 24 * time.Hour

// Moved records that transition id led the order to the state. It returns the row, and whether a task
// that was parked before that transition waits in it; the caller answers that task. A repeat returns
// the same until a newer transition is recorded. A transition below the newest recorded one changes
// nothing. TTL may delete the row after expires, unless another task is parked in it.
//
// Moved and [ParkUpdate] are conditional writes of one item, so one of them is first. If Moved is
// first, the condition of ParkUpdate fails; if ParkUpdate is first, Moved returns the token.
func (s *Store) Moved(ctx context.Context, orderID string, id int64, state string, expires time.Time) (row Task, waiting bool, err error) {
	update := dynamo.NewUpdate(s.table, rowKey(orderID)).
		If("attribute_not_exists("+attrMoved+") OR "+attrMoved+" < :id").
		Bind(":id", dynamo.N(id)).
		Set(attrMoved+" = :id").
		SetValue(attrMovedTo, dynamo.S(state)).
		SetValue(ExpiryAttribute, dynamo.Seconds(expires))

	out, err := s.db.UpdateItem(ctx, update.Input())
	if old, recorded := dynamo.FailedCondition(err); recorded {
		row = decode(old)
		// A repeat of the newest transition returns its task again; an older transition has nothing
		// to answer.
		return row, row.Token != "" && row.Moved == id && row.Since < id, nil
	}

	if err != nil {
		return Task{}, false, fmt.Errorf("record for the tasks of order %s that it is %s: %w", orderID, state, err)
	}
	row = decode(out.Attributes)

	// A task with this transition or a later one as Since was parked after it, and waits on.
	return row, row.Token != "" && row.Since < id, nil
}
