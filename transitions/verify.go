package transitions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// FindingKind says how an order and its journal disagree. The texts are part of the
// output of `ratchet verify`; none is ever renamed.
type FindingKind string

// The kinds of findings.
const (
	// FindingBehind: the journal ends before the order, and the order's ring has the
	// rest. With a journal written by the stream this is its lag.
	FindingBehind FindingKind = "behind"
	// FindingGap: the journal ends before the order, and the ring has forgotten some
	// of what is missing.
	FindingGap FindingKind = "gap"
	// FindingAhead: the journal has transitions that the order has not made.
	FindingAhead FindingKind = "ahead"
	// FindingBroken: the journal's rows are no chain.
	FindingBroken FindingKind = "broken"
	// FindingIllegal: the journal has a transition that the definition does not allow.
	FindingIllegal FindingKind = "illegal"
	// FindingState: state, previous state or version differ from what the journal says.
	FindingState FindingKind = "state"
	// FindingRing: a slot of the ring is not the journal's row.
	FindingRing FindingKind = "ring"
	// FindingUnreadable: an item or a row cannot be read.
	FindingUnreadable FindingKind = "unreadable"
)

// Finding is one disagreement.
type Finding struct {
	Kind FindingKind `json:"kind"`
	// TransitionID is where it was found, 0 for the whole order.
	TransitionID TransitionID `json:"transitionId,omitempty"`
	Detail       string       `json:"detail"`
	// Since is for "behind": when the oldest transition that is missing was made.
	Since time.Time `json:"since,omitzero"`
}

// Check is what Verify found about one order.
type Check struct {
	OrderID      OrderID        `json:"orderId"`
	State        workflow.State `json:"state"`
	TransitionID TransitionID   `json:"transitionId"`
	// Rows is how many rows the journal has of it.
	Rows int `json:"rows"`
	// Findings is empty when the order and its journal agree.
	Findings []Finding `json:"findings,omitempty"`
}

func (c *Check) found(kind FindingKind, at TransitionID, format string, args ...any) {
	c.Findings = append(c.Findings, Finding{Kind: kind, TransitionID: at, Detail: fmt.Sprintf(format, args...)})
}

// Verify compares every order with its journal and calls fn for each, also for those
// that agree. It reads both tables whole, one page of orders and one page of rows at a
// time, and writes nothing. Orders may move meanwhile: an order is compared as it was
// when it was read. Rows of orders that were deleted are not looked for. An error of
// fn ends it.
func (o *Orders) Verify(ctx context.Context, fn func(Check) error) error {
	if o.cfg.JournalTable == "" {
		return errors.New("verify orders: no journal table is configured")
	}
	consistent, limit := true, int32(100)

	input := &dynamodb.ScanInput{TableName: &o.cfg.Table, ConsistentRead: &consistent, Limit: &limit}
	for {
		out, err := o.cfg.DynamoDB.Scan(ctx, input)
		if err != nil {
			return fmt.Errorf("verify orders: %w", err)
		}

		for _, item := range out.Items {
			check, err := o.verify(ctx, item)
			if err != nil {
				return fmt.Errorf("verify order %s: %w", check.OrderID, err)
			}

			if err := fn(check); err != nil {
				return err
			}
		}

		if input.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return nil
		}
	}
}

// verify compares one order with its journal.
func (o *Orders) verify(ctx context.Context, item image) (Check, error) {
	order, err := decode(item)
	if err != nil {
		c := Check{OrderID: OrderID(dynamo.Text(item, "orderId"))}
		c.found(FindingUnreadable, 0, "%v", err)
		return c, nil
	}

	c := Check{OrderID: order.ID, State: order.State, TransitionID: order.TransitionID}
	facts, ahead, err := o.replay(ctx, order, &c)
	if err != nil {
		return c, err
	}

	if ahead > 0 {
		// The order has moved since it was read, or the journal knows too much.
		now, found, err := o.Get(ctx, order.ID)
		if err != nil {
			return c, err
		}

		if !found || now.TransitionID < ahead {
			c.found(FindingAhead, ahead, "the journal goes up to transition %d, the order has made %d", ahead, order.TransitionID)
		}
	}

	if slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Kind == FindingBroken || f.Kind == FindingUnreadable }) {
		return c, nil // what would follow from half a journal says nothing
	}

	rest, complete := order.since(facts.TransitionID)
	switch {
	case !complete:
		c.found(FindingGap, facts.TransitionID, "the journal ends at transition %d, the order is at %d, and the ring does not hold all between", facts.TransitionID, order.TransitionID)
		return c, nil
	case len(rest) > 0:
		c.found(FindingBehind, facts.TransitionID, "the journal ends at transition %d, the order is at %d", facts.TransitionID, order.TransitionID)
		c.Findings[len(c.Findings)-1].Since = rest[0].At
	}

	for _, row := range rest {
		if err := facts.add(row); err != nil {
			c.found(FindingBroken, row.ID, "the ring does not continue the journal: %v", err)
			return c, nil
		}
	}

	if facts.TransitionID > 0 { // an adopted order that has not moved yet has no journal
		compareFacts(&c, facts, order)
	}

	return c, nil
}

// replay rebuilds the order from its rows, up to where the order was when it was
// read. It returns the newest row beyond, 0 for none.
func (o *Orders) replay(ctx context.Context, order *Order, c *Check) (facts Facts, ahead TransitionID, err error) {
	for row, err := range o.Rows(ctx, order.ID, 0) {
		var unreadable *RowError
		switch {
		case errors.As(err, &unreadable):
			c.found(FindingUnreadable, unreadable.ID, "%v", err)
			return facts, ahead, nil
		case err != nil:
			return facts, ahead, err
		}
		c.Rows++

		if row.ID > order.TransitionID {
			ahead = row.ID
			continue
		}

		if row.DefinitionVersion == o.def.Version() && !o.allows(row.Transition) {
			c.found(FindingIllegal, row.ID, "%s from %q to %s is not in version %d of the definition", row.Event, row.From, row.To, row.DefinitionVersion)
		}

		if err := facts.add(row); err != nil {
			c.found(FindingBroken, row.ID, "%v", err)
			return facts, ahead, nil
		}
	}

	return facts, ahead, nil
}

// allows reports whether the definition has the transition.
func (o *Orders) allows(t Transition) bool {
	switch t.Event {
	case o.def.Place():
		return t.From == "" && t.To == o.def.Initial()
	case workflow.Migrate:
		return o.def.HasState(t.To) // where it may lead, the migrations say
	}

	return slices.ContainsFunc(o.def.Groups(t.Event), func(g workflow.Group) bool {
		return g.To == t.To && slices.Contains(g.From, t.From)
	})
}

// compareFacts compares what the history says with what the order says.
func compareFacts(c *Check, f Facts, o *Order) {
	if f.State != o.State {
		c.found(FindingState, f.TransitionID, "the order is %s, its journal says %s", o.State, f.State)
	}

	if f.PreviousState != o.PreviousState {
		c.found(FindingState, f.TransitionID, "the order was %q before, its journal says %q", o.PreviousState, f.PreviousState)
	}

	if f.DefinitionVersion != 0 && f.DefinitionVersion != o.DefinitionVersion {
		c.found(FindingState, f.TransitionID, "the order has version %d of the definition, its journal %d", o.DefinitionVersion, f.DefinitionVersion)
	}

	for i, want := range f.ring {
		have := o.ring[i]
		have.call = ""
		want.call = ""
		switch {
		case have.ID == 0 && want.ID != 0:
			c.found(FindingRing, want.ID, "slot s%d is empty, the journal has transition %d", i, want.ID)
		case have.ID != want.ID:
			c.found(FindingRing, have.ID, "slot s%d holds transition %d, the journal has %d", i, have.ID, want.ID)
		case have != want:
			c.found(FindingRing, have.ID, "slot s%d holds transition %d with other content than the journal", i, have.ID)
		}
	}
}
