package expression

import (
	"slices"
	"strings"

	"ratchet/embedded/internal/attr"
)

// RangeOp is the comparison of the sort key in a key condition.
type RangeOp uint8

// The comparisons. RangeBetween includes Lo and Hi; RangeBeginsWith has the prefix in Lo.
const (
	RangeNone RangeOp = iota
	RangeEqual
	RangeLess
	RangeLessEqual
	RangeGreater
	RangeGreaterEqual
	RangeBetween
	RangeBeginsWith
)

// Range bounds the sort key. Hi is set for RangeBetween only.
type Range struct {
	Op     RangeOp
	Lo, Hi attr.Value
}

// KeyCondition selects a partition or, unless Range.Op is RangeNone, a part of it.
type KeyCondition struct {
	Hash attr.Value
	// MoreHash are the values of the further attributes of the partition key.
	MoreHash []attr.Value
	// Equal are the values of the sort key's attributes before the attribute that Range bounds.
	Equal []attr.Value
	Range Range
}

// keyTerm is one comparison of a key condition, with the key on its left. Its Op is RangeNone if no
// key takes it.
type keyTerm struct {
	name string
	Range
}

// Key is a key attribute of the table or index that a key condition is for.
type Key struct {
	Name string
	Kind attr.Kind
}

// KeySchema is the key of the table or index. The partition key has an attribute at least.
type KeySchema struct{ Hash, Range []Key }

// KeyTerms are the comparisons of a key condition, before the table is known.
type KeyTerms struct{ terms []keyTerm }

// ParseKeyCondition parses a KeyConditionExpression as any condition. [KeyExpression.Terms] checks later
// whether it is a key condition, so that the other expressions of the request can be parsed in between.
func ParseKeyCondition(src string, params *Params) (*KeyExpression, error) {
	if params.err != nil {
		return nil, params.err
	}

	root, err := parse(&keptConditions, src, readCondition, params)
	if err != nil {
		return nil, invalidExpression("KeyConditionExpression", err)
	}

	return &KeyExpression{root}, nil
}

// KeyExpression is a parsed KeyConditionExpression.
type KeyExpression struct{ root *node }

// Terms returns the comparisons that the expression joins. It fails if there is anything else in
// it.
func (k *KeyExpression) Terms() (*KeyTerms, error) {
	terms, err := k.root.keyTerms(nil)
	if err != nil {
		return nil, err
	}

	return newKeyTerms(terms)
}

func newKeyTerms(terms []keyTerm) (*KeyTerms, error) {
	if len(terms) == 0 {
		return nil, errorf("Conditions can be of length 1 or 2 only")
	}

	return &KeyTerms{terms}, nil
}

// Condition returns the condition on the key attributes: the partition key and, if there is one,
// the sort key. It checks one key attribute after the other, and calls before with the position of
// each first; before may be nil.
// Source of the number of conditions: https://github.com/paritysuite/dynamodb-conformance
// tests/tier3/error-messages/queryKeyConditionOperands.test.ts
func (t *KeyTerms) Condition(schema KeySchema, before func(at int) error) (*KeyCondition, error) {
	if before == nil {
		before = func(int) error { return nil }
	}

	if len(schema.Hash) > 1 || len(schema.Range) > 1 {
		return t.multiCondition(schema, before)
	}

	var c KeyCondition
	keys := slices.Concat(schema.Hash, schema.Range)
	for at, key := range keys {
		if err := before(at); err != nil {
			return nil, err
		}

		// The number is checked after before(0): a fault of the start key's partition key
		// is reported first.
		if err := t.checkCount(len(keys)); err != nil {
			return nil, err
		}

		term, ok := t.of(key.Name)
		if !ok {
			// The sort key needs no comparison, unless the second comparison is of another
			// attribute.
			if at == 0 || len(t.terms) > 1 {
				return nil, errorf("Query condition missed key schema element: %s", key.Name)
			}

			continue
		}

		if err := term.check(key, at == 0); err != nil {
			return nil, err
		}

		if at == 0 {
			c.Hash = term.Lo
		} else {
			c.Range = term.Range
		}
	}

	return &c, nil
}

// checkCount refuses more comparisons than the key has attributes.
func (t *KeyTerms) checkCount(attributes int) error {
	if len(t.terms) <= attributes {
		return nil
	}

	return errorf("The number of query conditions (%d) exceeds the number of key attributes defined in the schema (%d)", len(t.terms), attributes)
}

// of returns the comparison of the attribute.
func (t *KeyTerms) of(name string) (keyTerm, bool) {
	for _, term := range t.terms {
		if term.name == name {
			return term, true
		}
	}

	return keyTerm{}, false
}

// check refuses comparisons that the key does not take.
func (t *keyTerm) check(key Key, hash bool) *Error {
	switch {
	case t.Op == RangeNone:
		return errorf("Attempted conditional constraint is not an indexable operation")
	case t.Lo.Kind != key.Kind || t.Op == RangeBetween && t.Hi.Kind != key.Kind:
		return errorf("One or more parameter values were invalid: Condition parameter type does not match schema type")
	case hash && t.Op != RangeEqual:
		return errorf("Query key condition not supported")
	}

	return nil
}

// keyTerms appends the comparisons that the condition joins by AND.
func (n *node) keyTerms(terms []keyTerm) ([]keyTerm, *Error) {
	switch n.op {
	case opAnd:
		terms, err := n.args[0].keyTerms(terms)
		if err != nil {
			return nil, err
		}

		return n.args[1].keyTerms(terms)
	case opOr, opNot, opIn, opNotEqual:
		return nil, errorf("Invalid operator used in KeyConditionExpression: %s", n.text)
	case opCall:
		if functionOf(n.text) != fnBeginsWith {
			return nil, errorf("Invalid operator used in KeyConditionExpression: %s", n.text)
		}
	}

	t, err := n.keyTerm()
	if err != nil {
		return nil, err
	}

	for _, other := range terms {
		if other.name == t.name {
			return nil, errorf("KeyConditionExpressions must only contain one condition per key")
		}
	}

	return append(terms, t), nil
}

// keyTerm returns one comparison, mirrored if the key stands on the right.
func (n *node) keyTerm() (keyTerm, *Error) {
	var t keyTerm
	key := -1
	for at, a := range n.args {
		switch {
		// Only begins_with itself may be a call, and not an operand such as size(key).
		case a.op == opCall:
			return t, errorf("KeyConditionExpressions cannot contain nested operations")
		case a.op == opPath && key >= 0:
			return t, errorf("Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition")
		case a.op == opPath && len(a.path) > 1:
			return t, errorf("KeyConditionExpressions cannot have conditions on nested attributes")
		case a.op == opPath:
			key = at
		}
	}

	if key < 0 {
		return t, errorf("Invalid condition in KeyConditionExpression: No key attribute specified")
	}

	t.name = n.args[key].path[0].Name
	switch n.op {
	case opBetween, opCall:
		if key != 0 {
			return t, errorf("Invalid condition in KeyConditionExpression: %s operator must have the key attribute as its first operand", n.text)
		}

		t.Op, t.Lo = RangeBeginsWith, n.args[1].value
		if n.op == opBetween {
			t.Op, t.Hi = RangeBetween, n.args[2].value
		}
	default:
		t.Op, t.Lo = rangeOps[n.op], n.args[1-key].value

		// :v < key is key > :v.
		if key == 1 {
			t.Op = mirrored[t.Op]
		}
	}

	return t, nil
}

var rangeOps = map[op]RangeOp{
	opEqual:        RangeEqual,
	opLess:         RangeLess,
	opLessEqual:    RangeLessEqual,
	opGreater:      RangeGreater,
	opGreaterEqual: RangeGreaterEqual,
}

// mirrored is the comparison with its sides exchanged.
var mirrored = map[RangeOp]RangeOp{
	RangeEqual:        RangeEqual,
	RangeLess:         RangeGreater,
	RangeLessEqual:    RangeGreaterEqual,
	RangeGreater:      RangeLess,
	RangeGreaterEqual: RangeLessEqual,
}

// Contains reports whether the comparison holds for a sort key.
func (r Range) Contains(key attr.Value) bool {
	order, ok := attr.Compare(key, r.Lo)
	switch r.Op {
	case RangeNone:
		return true
	case RangeBeginsWith:
		return key.Kind == r.Lo.Kind && strings.HasPrefix(key.Str, r.Lo.Str)
	case RangeEqual:
		return ok && order == 0
	case RangeLess:
		return ok && order < 0
	case RangeLessEqual:
		return ok && order <= 0
	case RangeGreater:
		return ok && order > 0
	case RangeGreaterEqual:
		return ok && order >= 0
	default: // RangeBetween
		upper, found := attr.Compare(key, r.Hi)
		return ok && found && order >= 0 && upper <= 0
	}
}
