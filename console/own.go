package console

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// ownRow is an own attribute of an order on its page.
type ownRow struct {
	name, value string
	buttons     []button
}

// ownRows returns the own attributes by name. A visitor that may not see them gets the words that stand for them, and no
// button.
func (v *visit) ownRows(id string, e explanation) (rows []ownRow) {
	for _, name := range slices.Sorted(maps.Keys(e.Order.Own)) {
		r := ownRow{name: name, value: ownText(e.Order.Own[name])}

		if e.Editable && v.by.Personal {
			r.buttons = slices.Concat(v.button("set-own", "order", id, "name", name, "value", r.value), v.button("remove-own", "order", id, "name", name))
		}
		rows = append(rows, r)
	}

	return rows
}

// ownText writes a value as a person types it: a text as it is, anything else in DynamoDB's JSON.
func ownText(value map[string]json.RawMessage) string {
	var text string
	if s, is := value["S"]; is && json.Unmarshal(s, &text) == nil && !strings.HasPrefix(text, "{") {
		return text
	}

	written, err := json.Marshal(value)
	if err != nil {
		return ""
	}

	return string(written)
}

// ownValue reads what a person has typed: DynamoDB's JSON, or a text.
func ownValue(name, text string) (any, error) {
	if !strings.HasPrefix(text, "{") {
		return map[string]string{"S": text}, nil
	}

	if !json.Valid([]byte(text)) {
		return nil, fault(name + `: a text, or a value in DynamoDB's JSON such as {"N":"3"}`)
	}

	return json.RawMessage(text), nil
}

// ownLines returns the own attributes to set of a text with a line for each.
func ownLines(text string) (map[string]any, error) {
	given, err := lines(text)
	if err != nil {
		return nil, err
	}
	set := map[string]any{}

	for name, value := range given {
		if set[name], err = ownValue(name, value); err != nil {
			return nil, err
		}
	}

	return set, nil
}
