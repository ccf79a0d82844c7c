package tasktoken

import (
	"context"
	"fmt"
	"time"

	"ratchet/internal/dynamo"
)

// Retention is how long the row of an order is kept after a transition was recorded in it. An execution
// lives for a year at most and may be redriven for 14 days more. Retention is longer, so that no attempt
// finds the row deleted.
const Retention = 400 * 24 * time.Hour

// Moved records that transition id led the order to the state. It returns the row, and whether a task
// waits in the row that was parked before the transition; the caller answers that task. A repeat
// returns the same until a newer transition is recorded. A transition below the newest recorded one
// changes nothing. TTL may delete the row after expires, unless a task is parked in it after this call.
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

	failed := func(err error) error {
		return fmt.Errorf("record for the tasks of order %s that it is %s: %w", orderID, state, err)
	}

	out, err := s.db.UpdateItem(ctx, update.Input())
	if old, recorded := dynamo.FailedCondition(err); recorded {
		if row, err = decode(old); err != nil {
			return Task{}, false, failed(err)
		}
		// For a repeat of the newest transition the task is returned again. For an older transition there
		// is nothing to answer.
		return row, row.Token != "" && row.Moved == id && row.Since < id, nil
	}

	if err == nil {
		row, err = decode(out.Attributes)
	}

	if err != nil {
		return Task{}, false, failed(err)
	}

	// If Since is this transition or a later one, the task was parked after the transition and still
	// waits.
	return row, row.Token != "" && row.Since < id, nil
}
