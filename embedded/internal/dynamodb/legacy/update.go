package legacy

import (
	"maps"
	"slices"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/wire"
)

// AttributeUpdate is an element of AttributeUpdates.
type AttributeUpdate struct {
	Action *string
	Value  *attr.Value
}

// NewUpdate returns AttributeUpdates as an update, nil for none.
func NewUpdate(updates map[string]AttributeUpdate) (*expression.Update, error) {
	if len(updates) == 0 {
		return nil, nil
	}

	list := make([]expression.Assignment, 0, len(updates))
	for _, name := range slices.Sorted(maps.Keys(updates)) {
		u := updates[name]

		// PUT is the action of a request that names none.
		a := expression.Assignment{Name: name, Action: "PUT", Value: u.Value}
		if u.Action != nil {
			a.Action = *u.Action
		}

		if a.Action != "PUT" && a.Action != "ADD" && a.Action != "DELETE" {
			return nil, wire.BadParameter("'"+a.Action+"'", "attributeUpdates."+name+".member.action", "Member must satisfy enum value set: [ADD, DELETE, PUT]")
		}
		list = append(list, a)
	}

	return expression.NewUpdate(list)
}
