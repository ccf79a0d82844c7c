package expression

import (
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
	Hash  attr.Value
	Range Range
}

// keyTerm is one comparison of a key condition, with the key on its left.
type keyTerm struct {
	name string
	Range
}

// maxKeyTerms is how many comparisons a key condition may have: one per key attribute.
const maxKeyTerms = 2

// ParseKeyCondition parses a KeyConditionExpression over the key attributes hash and rng,
// which is empty if there is no sort key. It does not compare the types of the values with
// the key schema.
func ParseKeyCondition(src, hash, rng string, params *Params) (*KeyCondition, error) {
	if params.err != nil {
		return nil, params.err
	}

	root, err := parseCondition(src, params)
	if err != nil {
		return nil, invalidExpression("KeyConditionExpression", err)
	}

	terms, err := root.keyTerms(nil)
	if err != nil {
		return nil, err
	}

	for _, path := range root.appendPaths(nil) {
		if len(path) > 1 {
			return nil, nestedKey(path, hash, rng)
		}
	}

	k, err := chooseKeys(terms, hash, rng)
	if err != nil {
		return nil, err
	}

	return k, nil
}

func nestedKey(path Path, hash, rng string) *Error {
	if name := path[0].Name; name == hash || name == rng {
		return errorf("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: %s", name)
	}
	return errorf("KeyConditionExpressions cannot have conditions on nested attributes")
}

// chooseKeys finds the comparison of the partition key and that of the sort key.
func chooseKeys(terms []keyTerm, hash, rng string) (*KeyCondition, *Error) {
	if len(terms) > maxKeyTerms {
		return nil, errorf("Conditions can be of length 1 or 2 only")
	}

	var k KeyCondition
	found := false
	missing := hash
	for _, t := range terms {
		switch {
		case t.name == hash:
			if t.Op != RangeEqual {
				return nil, errorf("Query key condition not supported")
			}
			k.Hash, found = t.Lo, true
		case t.name == rng && rng != "":
			k.Range = t.Range
		}
	}

	complete := len(terms) == 1 || k.Range.Op != RangeNone
	if found && complete {
		return &k, nil
	}

	if found && rng != "" {
		missing = rng
	}

	if found && rng == "" {
		return nil, errorf("Query key condition not supported")
	}

	return nil, errorf("Query condition missed key schema element: %s", missing)
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
		case a.op == opCall:
			return t, errorf("KeyConditionExpressions cannot contain nested operations")
		case a.op == opPath && key >= 0:
			return t, errorf("Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition")
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
