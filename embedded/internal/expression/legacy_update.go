package expression

import "ratchet/embedded/internal/attr"

// Assignment is one element of the legacy parameter AttributeUpdates: an action on a top-level
// attribute.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_AttributeValueUpdate.html
type Assignment struct {
	Name string
	// Action is PUT, ADD or DELETE.
	Action string
	// Value is nil if there is none.
	Value *attr.Value
}

// check validates the type of the value.
func (a *Assignment) check() error {
	if err := checkName(a.Name); err != nil {
		return err
	}

	if a.Value == nil {
		if a.Action != "DELETE" {
			return errorf("One or more parameter values were invalid: Only DELETE action is allowed when no attribute value is specified")
		}

		return nil
	}

	if err := a.Value.Err(); err != nil {
		return err
	}

	switch k := a.Value.Kind; {
	// PUT takes all types, and all actions take sets.
	case a.Action == "PUT" || k == attr.SS || k == attr.NS || k == attr.BS:
		return nil
	case a.Action == "DELETE":
		return errorf("One or more parameter values were invalid: DELETE action with value is not supported for the type %v", k)
	case k != attr.N && k != attr.L:
		return errorf("One or more parameter values were invalid: ADD action is not supported for the type %v", k)
	default:
		return nil
	}
}

// NewUpdate returns the update that makes the assignments. There must be at least one.
func NewUpdate(list []Assignment) (*Update, error) {
	u := &Update{legacy: true}
	for i := range list {
		if err := list[i].check(); err != nil {
			return nil, err
		}

		a := action{section: kSet, path: Path{{Name: list[i].Name}}}

		switch v := list[i].Value; {
		// Only DELETE may be without a value; see check.
		case v == nil:
			a.section = kRemove
		case list[i].Action == "ADD":
			a.section, a.value = kAdd, ValueNode(*v).tree
		case list[i].Action == "DELETE":
			a.section, a.value = kDelete, ValueNode(*v).tree
		default:
			a.value = ValueNode(*v).tree
		}
		u.actions, u.paths = append(u.actions, a), append(u.paths, a.path)
	}
	u.sortActions()

	return u, nil
}
