package transitions

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"ratchet/internal/dynamo"
	"ratchet/workflow"
)

// CheckVersion returns ErrUnknownVersion when the order may not be judged by these
// orders' definition. Orders without a version, which others have created, may.
func (o *Orders) CheckVersion(order *Order) error {
	if order.DefinitionVersion == 0 || slices.Contains(o.versions, order.DefinitionVersion) {
		return nil
	}

	return fmt.Errorf("%w: it is of version %d, known here %v (`ratchet workflow migrate` brings orders to another version)",
		ErrUnknownVersion, order.DefinitionVersion, o.versions)
}

// knownVersions are the versions whose orders may be moved, the definition's own first.
func knownVersions(cfg Config) ([]int, error) {
	versions := []int{cfg.Definition.Version()}
	for _, v := range cfg.Versions {
		if v < 1 {
			return nil, fmt.Errorf("transitions: Config.Versions: %d: versions count from 1", v)
		}

		if !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}

	return versions, nil
}

// ofVersion is the condition that the order is of a known version, or with only of
// that very one. It takes ":version", the definition's own, from the update's values.
func (o *Orders) ofVersion(only int, values image) string {
	if only != 0 {
		values[":only"] = dynamo.N(int64(only))
		return "definitionVersion = :only"
	}

	if len(o.versions) == 1 {
		return "(attribute_not_exists(definitionVersion) OR definitionVersion = :version)"
	}

	list := ":version"
	for i, v := range o.versions[1:] {
		name := ":version" + strconv.Itoa(i)
		values[name] = dynamo.N(int64(v))
		list += ", " + name
	}

	return "(attribute_not_exists(definitionVersion) OR definitionVersion IN (" + list + "))"
}

// Migrate brings the order, as the caller has read it, to the version of these orders'
// definition, in the state that m names. It is a transition like any other: one
// conditional write with the next id and the event "migrate", in ring and journal; an
// execution that holds the order's id learns of it as of any other transition. It
// reports false when the order is of the version already or has no version at all, so
// it may be repeated. An error of m's is returned as it is.
func (o *Orders) Migrate(ctx context.Context, m *workflow.Migrations, order *Order) (after *Order, moved bool, err error) {
	after, moved, err = o.migrate(ctx, m, order)
	if err != nil {
		err = fmt.Errorf("migrate order %s from version %d to %d: %w", order.ID, order.DefinitionVersion, o.def.Version(), err)
	}

	return after, moved, err
}

func (o *Orders) migrate(ctx context.Context, m *workflow.Migrations, order *Order) (*Order, bool, error) {
	for range o.cfg.Attempts {
		if order.DefinitionVersion == 0 || order.DefinitionVersion == o.def.Version() {
			return order, false, nil
		}

		to, err := m.Map(order.DefinitionVersion, o.def.Version(), order.State)
		if err != nil {
			return order, false, err
		}
		seen := order.TransitionID

		w := o.prepare(Request{OrderID: order.ID, Event: workflow.Migrate, IfMatch: &seen,
			RequestID: RequestID(fmt.Sprintf("migration/%d/%d/%d", order.DefinitionVersion, o.def.Version(), seen))},
			seen+1, workflow.Group{From: []workflow.State{order.State}, To: to}, traceAllotted)
		w.version = order.DefinitionVersion
		done, old, err := o.sendKnown(ctx, w, order)
		switch {
		case err != nil:
			return order, false, err
		case done != nil:
			return done, true, nil
		case old == nil:
			return order, false, ErrUnknownOrder
		}

		if t, same := old.slot(w.id); same && t.call == w.call {
			return old, true, nil // the answer was lost, and a retry met its own write
		}
		order = old
	}

	return order, false, ErrContended
}
