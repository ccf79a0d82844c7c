package transitions

import (
	"bytes"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
)

// Evidence is a record that a request was applied. The order's item holds the evidence of
// the newest transitions (the ring), of its parcels, of its newest edits and of its placing.
// The table of requests has a row for older transitions with a request id (see requests.go).
// The journal has a row for every transition, but it may lag behind: a missing row proves
// nothing, unless the chain of rows shows that the id was skipped.

// evidence finds the transition that has the id of the call or was made under its request
// id. If there are two such transitions, it returns the one with the request id. If the ring may have
// forgotten the transition, missing says what to look for first, in the table of requests and the
// journal.
func (p *move) evidence(s *sight) (t Transition, found bool, missing decision) {
	order := s.order
	if p.parcel != nil && !order.hasParcel(p.parcel) {
		return Transition{}, false, decision{} // the order remembers all of its parcels
	}

	if t, found := order.byRequest(p.key); found {
		return t, true, decision{}
	}

	if s.older != nil {
		return *s.older, true, decision{}
	}

	// One search covers every id up to the order's. A later round of the same call searches
	// again only if the ring has forgotten a transition above that id.
	if p.key != (digest{}) && order.oldestForgotten() > s.unusedUpTo {
		return Transition{}, false, decision{look: p.lookForRequest}
	}

	switch slot, same := order.slot(p.id); {
	// The order has the parcel, so a transition under the parcel's request id must exist.
	case p.parcel != nil:
		return slot, false, decision{err: fmt.Errorf("order %s: parcel %s has no transition: %w", order.ID, p.parcel.id, ErrJournalBroken)}
	case p.id == 0:
		return slot, false, decision{} // the id will be assigned above the order's
	// No later transition has used the slot, so the slot itself answers.
	case slot.ID <= p.id && !order.broken[p.id%ringSize]:
		return slot, same, decision{}
	case p.assigned, s.skipped:
		return slot, false, decision{} // the id is another request's, or was skipped
	}

	// A later transition has overwritten the slot.
	return Transition{}, false, decision{look: p.lookForID}
}

// lookForRequest looks for the request id among the transitions that the ring has forgotten.
func (p *move) lookForRequest(ctx context.Context, s *sight) error {
	t, found, err := p.forgottenRequest(ctx, s.order)
	if err == nil && !found {
		// A slot has a later id than the order only in an item that another program has changed.
		s.unusedUpTo = max(s.order.TransitionID, s.order.oldestForgotten())
	}

	return p.foundOlder(ctx, s, t, found, err)
}

// lookForID looks for the id in the journal.
func (p *move) lookForID(ctx context.Context, s *sight) error {
	t, found, err := p.journalOfID(ctx, s.order)
	s.skipped = err == nil && !found

	return p.foundOlder(ctx, s, t, found, err)
}

// foundOlder notes a transition that the ring has forgotten. If it was made after the order was read, the
// order is read again: the answer must not show the outdated order.
func (p *move) foundOlder(ctx context.Context, s *sight, t Transition, found bool, err error) error {
	if err != nil || !found {
		return err
	}

	if t.ID > s.order.TransitionID {
		err = p.orders.look(ctx, s)
	}
	s.older = &t

	return err
}

// hasParcel reports whether the order has sent the parcel.
func (o *Order) hasParcel(p *parcelPlan) bool { return o.parcels[p.key] != nil }

// hasOtherParcel reports whether the order has sent another parcel under its name.
func (o *Order) hasOtherParcel(p *parcelPlan) bool {
	if p == nil {
		return false
	}
	known, found := o.parcels[p.key].(*types.AttributeValueMemberB)

	return found && !bytes.Equal(known.Value, p.content[:])
}

// byRequest finds the transition that was made under the request id, as long as the ring
// holds it.
func (o *Order) byRequest(key digest) (Transition, bool) {
	for _, t := range o.ring {
		if t.ID != 0 && t.request == key && key != (digest{}) {
			return t, true
		}
	}

	return Transition{}, false
}

// slot returns the ring's entry for id, and whether the entry has this id.
func (o *Order) slot(id TransitionID) (Transition, bool) {
	t := o.ring[id%ringSize]
	return t, t.ID == id
}

// journalOfID looks for the id in the journal. Not found proves that the id was never
// applied: the chain skips it.
func (p *move) journalOfID(ctx context.Context, order *Order) (t Transition, found bool, err error) {
	passed, lost := false, false
	err = p.orders.readEvidence(ctx, order, p.id, 1, func(row Row) bool {
		// This is the first row with the id or a later one. If the row has a later id, its
		// PreviousID proves whether the id was skipped. An adopted row follows ids that never had
		// rows.
		t, found = row.Transition, row.ID == p.id && !row.lost
		passed = row.PreviousID < p.id || row.adopted
		lost = row.lost

		return false
	})
	if err == nil && lost {
		return Transition{}, false, fmt.Errorf("the journal's rows up to transition %d are lost: %w", t.ID, ErrEvidenceGone)
	}

	if err == nil && !found && !passed {
		err = fmt.Errorf("read the journal: %w", ErrJournalBehind)
	}

	return t, found, err
}

// readEvidence calls fn for the rows of the journal from the id on, until fn returns
// false. Without a journal it returns ErrEvidenceGone: no record is left of the transitions
// that the ring has forgotten.
func (o *Orders) readEvidence(ctx context.Context, order *Order, from TransitionID, page int, fn func(Row) bool) error {
	if !o.HasJournal() {
		return ErrEvidenceGone
	}

	if err := o.journal(ctx, order.life(), from, page, fn); err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}

	return nil
}

// madeBy finds the transition that the call has written, as long as the ring holds it.
// The transition must have the digest of the request id and, unless id is 0, this id.
func (o *Order) madeBy(call string, key digest, id TransitionID) (Transition, bool) {
	for _, t := range o.ring {
		if t.ID != 0 && t.call == call && t.request == key && (id == 0 || t.ID == id) {
			return t, true
		}
	}

	return Transition{}, false
}

// oldestForgotten returns the largest id that some slot may have held before its present
// one, or 0 when the ring has never overwritten anything.
func (o *Order) oldestForgotten() TransitionID {
	var last TransitionID
	for _, t := range o.ring {
		if t.ID > ringSize {
			last = max(last, t.ID-ringSize)
		}
	}

	// A slot that cannot be read may have held the newest id of its slot.
	for k, broken := range o.broken {
		if newest := o.TransitionID - (o.TransitionID-TransitionID(k)+ringSize)%ringSize; broken && newest > 0 {
			last = max(last, newest)
		}
	}

	return last
}

// evidenceOfPlacing is the transition that placed the order, and whether the item still
// holds it. If the ring has forgotten it, it is derived from the attempted placing; only
// its time can differ.
func (o *Order) evidenceOfPlacing(tried Transition) (t Transition, held bool) {
	if t, held := o.slot(placeID); held {
		return t, true
	}

	return Transition{ID: placeID, Event: tried.Event, To: tried.To, At: o.CreatedAt}, false
}

// evidenceOfEdit finds the trace of an edit, as long as the order remembers it.
func (o *Order) evidenceOfEdit(event digest) (editTrace, bool) {
	key := traceKey(event)

	m, found := o.edits[key].(*types.AttributeValueMemberM)
	if !found {
		return editTrace{}, false
	}

	// A trace that cannot be read still proves that the edit was made.
	r := reader{}

	return editTrace{
		key:     key,
		at:      r.number(m.Value, "at"),
		content: r.digest(m.Value, "h"),
		call:    r.optional(m.Value, "c"),
		version: dynamo.Number(o.edits, key+versionSuffix),
	}, true
}
