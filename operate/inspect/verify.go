package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/transitions"
	"ratchet/workflow"
)

// FindingKind says how an order and its journal disagree. The texts are part of the
// output of `ratchet verify`; none is ever renamed.
type FindingKind string

// The kinds of findings.
const (
	// FindingBehind: the journal ends before the order, and the order's ring has the rest. For a
	// journal that the stream writes, this is its lag.
	FindingBehind FindingKind = "behind"
	// FindingGap: the journal ends before the order, and the ring no longer has all missing
	// transitions.
	FindingGap FindingKind = "gap"
	// FindingAhead: the journal has transitions that the order has not made.
	FindingAhead FindingKind = "ahead"
	// FindingBroken: the journal's rows are no chain.
	FindingBroken FindingKind = "broken"
	// FindingIllegal: the journal has a transition that the definition does not allow.
	FindingIllegal FindingKind = "illegal"
	// FindingState: state, previous state or version differ from the journal's.
	FindingState FindingKind = "state"
	// FindingRing: a slot of the ring is not the journal's row.
	FindingRing FindingKind = "ring"
	// FindingMoved: another program has changed the order's state without a transition.
	FindingMoved FindingKind = "moved"
	// FindingUnreadable: an item or a row cannot be read.
	FindingUnreadable FindingKind = "unreadable"
)

// Finding is one disagreement.
type Finding struct {
	Kind FindingKind `json:"kind"`
	// TransitionID is where it was found, 0 for the whole order.
	TransitionID transitions.TransitionID `json:"transitionId,omitempty"`
	Detail       string                   `json:"detail"`
	// Advice says what to do about it.
	Advice string `json:"advice"`
	// Since is set for "behind": when the oldest missing transition was made.
	Since time.Time `json:"since,omitzero"`
}

// Check is the result of Verify for one order.
type Check struct {
	OrderID      transitions.OrderID      `json:"orderId"`
	State        workflow.State           `json:"state"`
	TransitionID transitions.TransitionID `json:"transitionId"`
	// Rows is how many rows of the order the journal has.
	Rows int `json:"rows"`
	// Elsewhere: the order came here when it had been paid, so its payment is not here.
	Elsewhere bool `json:"paidElsewhere,omitempty"`
	// Findings is empty when the order and its journal agree.
	Findings []Finding `json:"findings,omitempty"`
}

func (c *Check) add(kind FindingKind, at transitions.TransitionID, format string, args ...any) {
	c.Findings = append(c.Findings, Finding{Kind: kind, TransitionID: at, Detail: fmt.Sprintf(format, args...), Advice: strings.ReplaceAll(advice[kind], "ORDER", c.OrderID.Arg())})
}

// advice says what to do about a finding. ORDER stands for the order.
var advice = map[FindingKind]string{
	FindingBehind:     "let the workers read the stream to its end; if it stays so, `ratchet streams rebuild --handler journal` writes what the order remembers",
	FindingGap:        "`ratchet streams rebuild --handler journal` writes what the order remembers, and closes the journal over what is lost",
	FindingAhead:      "`ratchet orders rebuild ORDER --write` moves the order to the end of its journal; if tables were restored, `ratchet restored` comes first",
	FindingBroken:     "find what wrote or deleted the row, and write it as it was, from a backup or the stream; the order itself can go on",
	FindingIllegal:    "find what wrote the row, by its cause; if the transition was made, allow it in the definition of a later version and migrate",
	FindingState:      "find what wrote the order or the row, and correct the one that is wrong",
	FindingRing:       "find what wrote the order or the row, and correct the one that is wrong",
	FindingMoved:      "`ratchet orders adopt ORDER` brings the state in",
	FindingUnreadable: "correct the attribute of the item or row that is named, or put it back from a backup: until then nothing moves the order",
}

// Verify compares every order with its journal and calls fn for each order, also for those without
// a finding. It reads both tables whole, one page of orders and one page of rows at a time, and
// writes nothing. Orders may move meanwhile: an order is compared as it was when it was read. Rows
// of orders that were deleted are not looked for. An error of fn ends Verify and is returned as it
// is.
func Verify(ctx context.Context, o *transitions.Orders, fn func(Check) error) error {
	return VerifyOwn(ctx, o, func(transitions.OrderID) bool { return true }, fn)
}

// VerifyOwn is as Verify for the orders whose id own accepts. It reads the whole table of orders, and the rows of those.
func VerifyOwn(ctx context.Context, o *transitions.Orders, own func(transitions.OrderID) bool, fn func(Check) error) error {
	if !o.HasJournal() {
		return errors.New("verify orders: no journal table is configured")
	}

	var refused error // the error of fn, kept apart so that it is returned without a prefix
	// Small pages: an order that moves between its read and its comparison costs another read.
	limit := int32(100)

	err := o.Scan(ctx, transitions.Sweep{Segments: 1}, dynamodb.ScanInput{Limit: &limit},
		func(ctx context.Context, order *transitions.Order, err error) error {
			if !own(order.ID) {
				return nil
			}

			check, err := verify(ctx, o, order, err)
			if err != nil {
				return fmt.Errorf("order %s: %w", order.ID, err)
			}

			refused = fn(check)

			return refused
		})
	switch {
	case refused != nil:
		return refused
	case err != nil:
		return fmt.Errorf("verify orders: %w", err)
	}

	return nil
}

// verify compares one order with its journal. unreadable says why the order could not be
// read whole.
func verify(ctx context.Context, o *transitions.Orders, order *transitions.Order, unreadable error) (Check, error) {
	if unreadable != nil {
		c := Check{OrderID: order.ID}
		c.add(FindingUnreadable, 0, "%v", unreadable)

		return c, nil
	}

	c := Check{OrderID: order.ID, State: order.State, TransitionID: order.TransitionID}
	facts, ahead, err := c.replay(ctx, o, order)
	if err != nil {
		return c, err
	}

	if ahead > 0 {
		// Either the order has moved since it was read, or the journal has rows of transitions
		// that the order has not made. A second read shows which.
		now, found, err := o.Get(ctx, order.ID)
		if err != nil {
			return c, err
		}

		if !found || now.TransitionID < ahead {
			c.add(FindingAhead, ahead, "the journal goes up to transition %d, the order has made %d", ahead, order.TransitionID)
		}
	}

	// With a part of the journal missing, differences from the order would prove nothing.
	if !slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Kind == FindingBroken || f.Kind == FindingUnreadable }) {
		c.compare(facts, order)
	}

	return c, nil
}

// replay rebuilds the order from its rows, up to the transition at which the order was read. It
// returns the id of the newest row after that, 0 if there is none.
func (c *Check) replay(ctx context.Context, o *transitions.Orders, order *transitions.Order) (facts transitions.Facts, ahead transitions.TransitionID, err error) {
	for row, err := range o.Rows(ctx, order, 0) {
		var unreadable *transitions.JournalError
		switch {
		case errors.As(err, &unreadable) && unreadable.Unreadable:
			c.add(FindingUnreadable, unreadable.At, "%v", err)
			return facts, ahead, nil
		case err != nil:
			return facts, ahead, err
		}
		c.Rows++

		// Not the end of the loop: the newest row decides whether the order really lacks
		// transitions.
		if row.ID > order.TransitionID {
			ahead = row.ID
			continue
		}

		// Rows of other versions cannot be judged: only this program's definition is known.
		if row.DefinitionVersion == o.Definition().Version() && !allows(o.Definition(), row.Transition) {
			c.add(FindingIllegal, row.ID, "%s from %q to %s is not in version %d of the definition", row.Event, row.From, row.To, row.DefinitionVersion)
		}

		if err := facts.Add(row); err != nil {
			c.add(FindingBroken, row.ID, "%v", err)
			return facts, ahead, nil
		}
		c.Elsewhere = c.Elsewhere || row.Event == workflow.Imported && PaidElsewhere(o.Definition(), row.Transition)
	}

	return facts, ahead, nil
}

// allows reports whether the definition has the transition.
func allows(d *workflow.Definition, t transitions.Transition) bool {
	switch t.Event {
	case d.Place():
		return t.From == "" && t.To == d.Initial()
	case workflow.Migrate, workflow.Imported:
		return d.HasState(t.To) // which mapping, or which other program, led there is not known here
	}

	return slices.ContainsFunc(d.Groups(t.Event), func(g workflow.Group) bool {
		return g.To == t.To && slices.Contains(g.From, t.From)
	})
}

// compare compares the order with its journal. If the journal lags, the ring's transitions are
// added first.
func (c *Check) compare(facts transitions.Facts, order *transitions.Order) {
	rest, complete := order.Since(facts.TransitionID)
	switch {
	case !complete:
		c.add(FindingGap, facts.TransitionID, "the journal ends at transition %d, the order is at %d, and the ring does not hold all between", facts.TransitionID, order.TransitionID)
		return
	case len(rest) > 0:
		c.add(FindingBehind, facts.TransitionID, "the journal ends at transition %d, the order is at %d", facts.TransitionID, order.TransitionID)
		c.Findings[len(c.Findings)-1].Since = rest[0].At
	}

	for _, row := range rest {
		if err := facts.Add(row); err != nil {
			c.add(FindingBroken, row.ID, "the ring does not continue the journal: %v", err)
			return
		}
	}

	if facts.TransitionID == 0 {
		return // an adopted order that has not moved yet has no journal
	}

	c.compareFacts(facts, order)

	for id, difference := range facts.RingDifferences(order) {
		c.add(FindingRing, id, "%s", difference)
	}
}

// compareFacts compares state, previous state and version.
func (c *Check) compareFacts(f transitions.Facts, o *transitions.Order) {
	switch left, moved := o.MovedByOther(); {
	case moved:
		c.add(FindingMoved, f.TransitionID, "another program has moved the order from %s to %s without a transition", left, o.State)
	case f.State != o.State:
		c.add(FindingState, f.TransitionID, "the order is %s, its journal says %s", o.State, f.State)
	}

	if f.PreviousState != o.PreviousState {
		c.add(FindingState, f.TransitionID, "the order was %q before, its journal says %q", o.PreviousState, f.PreviousState)
	}

	// The ring keeps no versions, so the version is unknown (0) if the newest transition was taken
	// from the ring.
	if f.DefinitionVersion != 0 && f.DefinitionVersion != o.DefinitionVersion {
		c.add(FindingState, f.TransitionID, "the order has version %d of the definition, its journal %d", o.DefinitionVersion, f.DefinitionVersion)
	}
}
