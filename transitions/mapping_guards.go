package transitions

import (
	"fmt"
	"strings"

	"ratchet/workflow"
)

// checkGuards refuses a definition that names an attribute of the table which has one of Ratchet's fields, or the key,
// under another name: in the order it would be a missing attribute, and in the condition of the write that field.
func (m Mapping) checkGuards(d *workflow.Definition) error {
	for _, t := range d.Spec().Transitions {
		for _, g := range t.Guards {
			for _, path := range []string{g.Attribute, g.Other} {
				if rule := m.misnamed(path); rule != "" {
					return fmt.Errorf("guard %s of event %s: %s", g.Name, t.Event, rule)
				}
			}
		}

		if t.After != nil {
			if rule := m.misnamed(t.After.Attribute); rule != "" {
				return fmt.Errorf("after of event %s: %s", t.Event, rule)
			}
		}
	}

	return nil
}

// misnamed returns the rule that the path of an attribute breaks, "" for none. A definition names fields as Ratchet does,
// and other attributes as the table does.
func (m Mapping) misnamed(path string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(path, "size("), ")")
	if i := strings.IndexAny(name, ".["); i >= 0 {
		name = name[:i]
	}

	if name == "" || isField[name] || name == orderIDAttribute {
		return ""
	}

	if field := m.field(name); field != "" {
		return fmt.Sprintf("%q is the attribute that the mapping gives the field %s: name the field", clip(name), field)
	}

	if name == m.partition() || name == m.SortKey {
		return fmt.Sprintf("%q is the key of the table: name orderId", clip(name))
	}

	return ""
}
