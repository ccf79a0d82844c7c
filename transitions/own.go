package transitions

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// OwnChange changes attributes of the caller's own in the same write as the transition or edit that has it. It is
// part of the content: the same request with another OwnChange is another request. It sets at most 50 attributes,
// removes 20 and compares 20 in each way, with 64 KB of names and values, and none of Ratchet's fields or of the key,
// as the [Mapping] names them. A larger item costs more write units.
type OwnChange struct {
	// Set gives the attributes these values, whatever they were before.
	Set Attributes `json:"set,omitempty"`
	// Remove removes the attributes. One that the order does not have is no error.
	Remove []string `json:"remove,omitempty"`
	// If are conditions on the attributes as they are before the write.
	If OwnGuards `json:"if,omitzero"`
}

// OwnGuards are conditions on attributes of the caller's own. If one does not hold, the request is refused with
// WrongState, as it is for a guard of the definition.
type OwnGuards struct {
	// Equals are attributes that must have these values.
	Equals Attributes `json:"equals,omitempty"`
	// Exists are attributes that the order must have, Missing those that it must not have.
	Exists  []string `json:"exists,omitempty"`
	Missing []string `json:"missing,omitempty"`
}

// IsZero reports whether there is no change and no condition.
func (c OwnChange) IsZero() bool { return len(c.Set)+len(c.Remove) == 0 && c.If.IsZero() }

// IsZero reports whether there is no condition.
func (g OwnGuards) IsZero() bool { return len(g.Equals)+len(g.Exists)+len(g.Missing) == 0 }

// Validate returns an ErrInvalidRequest that names the first attribute that breaks a rule, and the rule. The text
// has the place as a JSON pointer after the name of the member in front. It repeats no value.
func (c OwnChange) Validate(m Mapping) error {
	if f := c.fault(m); f != nil {
		return fmt.Errorf("%w: own%w", ErrInvalidRequest, f)
	}

	return nil
}

// ownFault is Validate of the attributes of a new order, where they have no member of their own around them.
func (NewOrder) ownFault(f *fault) error {
	f.path = f.path[min(1, len(f.path)):]

	return fmt.Errorf("%w: own%w", ErrInvalidRequest, f)
}

func (c OwnChange) fault(m Mapping) *fault {
	changed, bytes := map[string]bool{}, 0 // one write cannot set and remove an attribute

	note := func(seen map[string]bool, name string, value types.AttributeValue) *fault {
		bytes += len(name)

		rule := m.checkOwnName(name)
		if seen[name] {
			rule = "is named twice"
		}
		seen[name] = true

		switch {
		case rule != "":
			return &fault{rule: "attribute " + strconv.Quote(clip(name)) + ": " + rule}
		case value == nil:
			return nil
		}
		bytes += size(value)

		return checkValue(value, 1)
	}
	names := func(seen map[string]bool, list []string) *fault {
		if len(list) > maxOwnNames {
			return &fault{rule: fmt.Sprintf("%d attributes, at most %d", len(list), maxOwnNames)}
		}

		for i, name := range list {
			if f := note(seen, name, nil); f != nil {
				return f.in(strconv.Itoa(i))
			}
		}

		return nil
	}
	values := func(seen map[string]bool, a Attributes, most int) *fault {
		if len(a) > most {
			return &fault{rule: fmt.Sprintf("%d attributes, at most %d", len(a), most)}
		}

		for _, name := range slices.Sorted(maps.Keys(a)) {
			f := note(seen, name, a[name])
			if a[name] == nil && f == nil {
				f = checkValue(nil, 1)
			}

			if f != nil {
				return f.in(name)
			}
		}

		return nil
	}

	for _, f := range []*fault{
		values(changed, c.Set, maxOwnSet).in("set"),
		names(changed, c.Remove).in("remove"),
		values(map[string]bool{}, c.If.Equals, maxOwnNames).in("equals").in("if"),
		names(map[string]bool{}, c.If.Exists).in("exists").in("if"),
		names(map[string]bool{}, c.If.Missing).in("missing").in("if"),
	} {
		if f != nil {
			return f
		}
	}

	if bytes > maxOwnBytes {
		return &fault{rule: fmt.Sprintf("%d bytes of names and values, at most %d", bytes, maxOwnBytes)}
	}

	return nil
}

// digest returns the digest of the change, zero if there is none.
func (c OwnChange) digest() digest {
	if c.IsZero() {
		return digest{}
	}

	var parts []string
	list := func(names []string) {
		parts = append(append(parts, strconv.Itoa(len(names))), slices.Sorted(slices.Values(names))...)
	}

	parts = append(parts, c.Set.flat()...)
	list(c.Remove)
	parts = append(parts, c.If.Equals.flat()...)
	list(c.If.Exists)
	list(c.If.Missing)

	return digestOf(parts...)
}

// unmet returns why the order does not satisfy the conditions, "" if it does. It names the attribute, and not the
// value, which may be personal.
func (g OwnGuards) unmet(has Attributes) string {
	for _, name := range slices.Sorted(maps.Keys(g.Equals)) {
		if has[name] == nil || !equal(g.Equals[name], has[name]) {
			return fmt.Sprintf("own attribute %q has another value than the request needs", clip(name))
		}
	}

	for _, name := range g.Exists {
		if has[name] == nil {
			return fmt.Sprintf("own attribute %q is missing, and the request needs it", clip(name))
		}
	}

	for _, name := range g.Missing {
		if has[name] != nil {
			return fmt.Sprintf("own attribute %q exists, and the request needs that it does not", clip(name))
		}
	}

	return ""
}

// applied returns the attributes as the change leaves them.
func (c OwnChange) applied(before Attributes) Attributes {
	if len(c.Set)+len(c.Remove) == 0 {
		return before
	}

	after := maps.Clone(before)
	if after == nil {
		after = Attributes{}
	}
	maps.Copy(after, c.Set)

	for _, name := range c.Remove {
		delete(after, name)
	}

	if len(after) == 0 {
		return nil
	}

	return after
}

// ownClauses are the parts of a write that change own attributes: assignments, paths to remove, and conditions.
type ownClauses struct {
	set, remove, conditions []string

	names  map[string]string // placeholders, by image name
	values image
}

// clauses renders the change. Each name is a placeholder.
func (c OwnChange) clauses(m Mapping) ownClauses {
	out := ownClauses{names: map[string]string{}, values: image{}}
	placeholders := map[string]string{}

	path := func(name string) string {
		if p := placeholders[name]; p != "" {
			return p
		}

		p := "#own" + strconv.Itoa(len(placeholders))
		placeholders[name], out.names[p] = p, m.ownImage(name)

		return p
	}
	value := func(v types.AttributeValue) string {
		p := ":own" + strconv.Itoa(len(out.values))
		out.values[p] = v

		return p
	}

	// Sorted, so that the same change always renders the same text.
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		out.set = append(out.set, path(name)+" = "+value(c.Set[name]))
	}

	for _, name := range c.Remove {
		out.remove = append(out.remove, path(name))
	}

	for _, name := range slices.Sorted(maps.Keys(c.If.Equals)) {
		out.conditions = append(out.conditions, path(name)+" = "+value(c.If.Equals[name]))
	}

	for _, name := range c.If.Exists {
		out.conditions = append(out.conditions, "attribute_exists("+path(name)+")")
	}

	for _, name := range c.If.Missing {
		out.conditions = append(out.conditions, "attribute_not_exists("+path(name)+")")
	}

	return out
}

// extend adds the clauses to the update and the condition of a transition, and to its names and values.
func (c ownClauses) extend(update *string, condition string, names map[string]string, values image) (*string, string, map[string]string, error) {
	for _, assignment := range c.set {
		text := strings.Replace(*update, "SET ", "SET "+assignment+", ", 1)
		update = &text
	}

	if len(c.remove) > 0 {
		separator := " REMOVE "
		if strings.Contains(*update, separator) {
			separator = ", "
		}
		text := *update + separator + strings.Join(c.remove, ", ")
		update = &text
	}

	condition = strings.Join(append([]string{condition}, c.conditions...), " AND ")

	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, c.names)
	maps.Copy(values, c.values)

	return update, condition, names, checkSize(*update, condition)
}

// checkSize returns an ErrInvalidRequest if own attributes make an expression larger than DynamoDB takes. Without
// them, every write of a definition fits (see checkExpressions).
func checkSize(update, condition string) error {
	const beside = " together with all else that the write has, at most "

	var f *fault
	switch {
	case len(condition) > maxExpression:
		f = &fault{[]string{"if"}, fmt.Sprint("makes a condition of ", len(condition), " bytes", beside, maxExpression)}
	case operators(condition) > maxOperators:
		f = &fault{[]string{"if"}, fmt.Sprint("makes a condition of ", operators(condition), " operators", beside, maxOperators)}
	case len(update) > maxExpression:
		f = &fault{nil, fmt.Sprint("makes an update of ", len(update), " bytes", beside, maxExpression)}
	default:
		return nil
	}

	return fmt.Errorf("%w: own%w", ErrInvalidRequest, f)
}

// difference returns the change that leads from the attributes before to those after.
func difference(before, after Attributes) (c OwnChange) {
	for name, v := range after {
		if before[name] == nil || !equal(before[name], v) {
			if c.Set == nil {
				c.Set = Attributes{}
			}
			c.Set[name] = v
		}
	}

	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == nil {
			c.Remove = append(c.Remove, name)
		}
	}

	return c
}

// setOwn is the change of [Orders.SetOwn].
type setOwn struct {
	OwnChange

	mapping Mapping
}

func (c *setOwn) validate() error { return c.Validate(c.mapping) }
func (c *setOwn) content() digest { return c.digest() }
func (c *setOwn) blind() bool     { return true }

func (c *setOwn) plan(order *Order, d draft) (Verdict, string, error) {
	if err := order.readableForEdit(); err != nil {
		return 0, "", err
	}

	return c.OwnChange.plan(c.mapping, order, d)
}

// plan adds the change to the draft of an edit. The order is nil if it is not known.
func (c OwnChange) plan(m Mapping, order *Order, d draft) (refusal Verdict, reason string, err error) {
	if order != nil {
		if reason := c.If.unmet(order.Own); reason != "" {
			return WrongState, reason, nil
		}
	}

	own := c.clauses(m)
	for placeholder, name := range own.names {
		d.Alias(placeholder, name)
	}

	for placeholder, v := range own.values {
		d.Bind(placeholder, v)
	}

	for _, assignment := range own.set {
		d.Set(assignment)
	}

	for _, path := range own.remove {
		d.Remove(path)
	}

	for _, condition := range own.conditions {
		d.If(condition)
	}
	part := d.Part()

	return 0, "", checkSize(*part.UpdateExpression, *part.ConditionExpression)
}
