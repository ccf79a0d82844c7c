package transitions

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// Lost is the event of a row that closes the chain of a journal whose rows are lost.
const Lost workflow.Event = "lost"

// PastVersion is a transition of an order with the item before and after it, as a stream
// record has them. [FromRecord] decodes it. State, transitionId, ring and times belong to the
// transition; the content (lines, total, addresses, notes, parcels) is the order's present one.
type PastVersion struct {
	Transition Transition
	Old, New   map[string]types.AttributeValue // Old is nil for placing
}

// Provable returns the transitions that the order's item still proves with its ring, oldest first.
// complete says that the order has made no others.
func (m Mapping) Provable(item map[string]types.AttributeValue) (versions []PastVersion, complete bool, err error) {
	order, err := m.decode(item)
	if err != nil {
		return nil, false, err
	}

	complete = order.oldestForgotten() == 0

	return m.versions(order, contiguous(order.Recent()), complete), complete, nil
}

// contiguous returns the newest transitions that follow each other without a gap: each leaves
// the state to which the transition before it has led.
func contiguous(made []Transition) []Transition {
	for i := len(made) - 1; i > 0; i-- {
		if made[i].From != made[i-1].To {
			return made[i:]
		}
	}

	return made
}

// Journaled returns the transitions of the order that its journal and its item prove, oldest
// first. complete says that the order has made no others.
func (o *Orders) Journaled(ctx context.Context, item map[string]types.AttributeValue) (versions []PastVersion, complete bool, err error) {
	order, err := o.cfg.Mapping.decode(item)
	if err != nil {
		return nil, false, err
	}

	var made []Transition
	var last TransitionID
	complete = true

	for row, err := range o.Rows(ctx, order, 0) {
		if err != nil {
			return nil, false, err
		}

		if row.lost || !row.Follows(last) {
			complete, made = false, nil // no item is known before the gap
		}

		if last = row.ID; !row.lost {
			made = append(made, row.Transition)
		}
	}

	rows, reaches := order.Since(last)
	// Transitions between the journal's last row and the ring's first are unknown.
	if !reaches {
		complete, made = false, nil
	}

	for _, row := range rows {
		made = append(made, row.Transition)
	}

	return o.cfg.Mapping.versions(order, made, complete), complete, nil
}

// decode reads an order's item as the table has it.
func (m Mapping) decode(item image) (*Order, error) {
	img, ofOrder := m.image(item, "")
	if !ofOrder {
		return nil, fmt.Errorf("%w: the item is not an order", ErrUnreadable)
	}

	order, err := decode(img)
	if err != nil && !m.isDefault() {
		// The error names a field, and a reader of the table looks for the attribute.
		for _, field := range []string{"orderState", "transitionId"} {
			if strings.Contains(err.Error(), "attribute "+field+" ") {
				err = fmt.Errorf("%w (the field %s is the attribute %s here)", err, field, m.attribute(field))
			}
		}
	}

	return order, err
}

// versions is versionsOf with items as the table has them.
func (m Mapping) versions(order *Order, made []Transition, whole bool) []PastVersion {
	versions := versionsOf(order, made, whole)
	for i, v := range versions {
		versions[i].Old, versions[i].New = m.item(v.Old), m.item(v.New)
	}

	return versions
}

// versionsOf returns the items before and after each of the transitions, which follow each
// other. If whole is false, others came before the first one.
func versionsOf(order *Order, made []Transition, whole bool) []PastVersion {
	if len(made) == 0 {
		return nil
	}

	ring := image{}
	var before image

	if first := made[0]; !whole && first.ID > placeID {
		// A stand-in for the transition before: it gives the first version its previous id and state.
		unknown := Transition{ID: first.ID - 1, Event: Lost, To: first.From, At: first.At}
		unknown.addTo(ring)
		before = order.itemAt(unknown, ring)
	} else if first.From != "" {
		// Another program has made the transitions before.
		before = order.itemAt(Transition{ID: first.ID - 1, To: first.From, At: first.At}, ring)
	}

	versions := make([]PastVersion, len(made))
	for i, t := range made {
		t.addTo(ring)
		after := order.itemAt(t, ring)
		versions[i] = PastVersion{Transition: t, Old: before, New: after}
		before = after
	}

	return versions
}

// itemAt returns the order's item as it was after the transition, as far as that is known.
func (o *Order) itemAt(t Transition, ring image) image {
	item := maps.Clone(o.item)
	item["orderState"] = dynamo.S(string(t.To))
	item["transitionId"] = dynamo.N(int64(t.ID))
	item["updatedAt"] = dynamo.N(t.At.UnixMilli())
	item["recent"] = dynamo.M(maps.Clone(ring))
	t.setCause(item, o.ID)

	// Only the version of the newest transition is known.
	if t.ID != o.TransitionID {
		delete(item, "definitionVersion")
	}

	delete(item, "previousState")

	if t.From != "" {
		item["previousState"] = dynamo.S(string(t.From))
	}

	return item
}

// CloseJournal closes the chain of an order's journal where rows are lost for good: the
// journal lacks them, and the order's ring has forgotten their transitions. It writes one
// row with the event [Lost] in their place, which leads to the state that the next known
// transition leaves. From then on a question about a lost transition is answered with
// ErrEvidenceGone, and no longer with ErrJournalBehind. It reports whether it has written
// the row.
//
// Call it only when no reader of the stream can bring the rows. If a lost row comes all
// the same, [Orders.Record] replaces the row with the event Lost.
func (o *Orders) CloseJournal(ctx context.Context, item map[string]types.AttributeValue) (bool, error) {
	order, err := o.cfg.Mapping.decode(item)
	if err != nil {
		return false, err
	}

	var last Row
	for row, err := range o.Rows(ctx, order, 0) {
		if err != nil {
			return false, err
		}

		if !row.Follows(last.ID) {
			// The first row after the gap names the last id of the gap.
			return o.writeLost(ctx, order, last, row.PreviousID, row.Transition)
		}
		last = row
	}

	// The rows have no gap. Some may be lost between the last row and the ring.
	provable := contiguous(order.Recent())
	if _, reaches := order.Since(last.ID); reaches || len(provable) == 0 || provable[0].ID-1 <= last.ID {
		return false, nil
	}

	return o.writeLost(ctx, order, last, provable[0].ID-1, provable[0])
}

// writeLost writes the row that stands for the lost transitions: with ids above the row last and
// up to upTo. The next known transition is next.
func (o *Orders) writeLost(ctx context.Context, order *Order, last Row, upTo TransitionID, next Transition) (bool, error) {
	if upTo <= last.ID {
		// Not a gap: the next row follows an id that the chain has already passed.
		return false, fmt.Errorf("close the journal of order %s: %w", order.ID, &JournalError{At: next.ID, What: fmt.Sprintf("it follows transition %d, but the row before it is %d", upTo, last.ID)})
	}

	// In the life in which the lost transitions were made, where readers look for their rows.
	row := transitionRow(life{id: order.ID, incarnation: order.LifeAt(upTo)}, Transition{ID: upTo, Event: Lost, From: last.To, To: next.From, At: o.clock.Now()})
	row["previousId"] = dynamo.N(int64(last.ID))
	row["definitionVersion"] = dynamo.N(0) // not known
	row["lost"] = dynamo.Bool(true)

	unanswered := false

	old, exists, err := dynamo.UntilDecided(ctx, o.cfg.Attempts, func() error {
		_, err := o.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:                           &o.cfg.JournalTable,
			Item:                                row,
			ConditionExpression:                 &absent,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		unanswered = unanswered || dynamo.OutcomeUnknown(ctx, err)

		return err
	})
	if err != nil {
		return false, fmt.Errorf("close the journal of order %s: %w", order.ID, asUnavailable(ctx, err))
	}

	// If another row under this id has come meanwhile and leaves a gap, the next call closes that. It is this
	// call's own row if an earlier attempt had no answer.
	return !exists || unanswered && reflect.DeepEqual(old, row), nil
}
