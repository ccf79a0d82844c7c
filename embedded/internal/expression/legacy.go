package expression

import (
	"slices"

	"ratchet/embedded/internal/attr"
)

// Comparison is one element of the legacy parameters Expected, KeyConditions, QueryFilter and
// ScanFilter: it compares an attribute with values. The name is always a top-level attribute, even
// if it has a dot in it.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Condition.html
type Comparison struct {
	Name     string
	Operator string
	Values   []attr.Value
}

// comparator is a ComparisonOperator: how many values it takes, of which types, and the
// condition that means the same.
type comparator struct {
	least, most int
	kinds       []attr.Kind // nil: all
	op          op
	call        string // of an opCall
}

var (
	orderedKinds   = []attr.Kind{attr.S, attr.N, attr.B}
	prefixKinds    = []attr.Kind{attr.S, attr.B}
	containedKinds = []attr.Kind{attr.S, attr.N, attr.B, attr.BOOL, attr.NULL}
)

var comparators = map[string]comparator{
	"EQ":           {least: 1, most: 1, op: opEqual},
	"NE":           {least: 1, most: 1, op: opNotEqual},
	"LT":           {least: 1, most: 1, kinds: orderedKinds, op: opLess},
	"LE":           {least: 1, most: 1, kinds: orderedKinds, op: opLessEqual},
	"GT":           {least: 1, most: 1, kinds: orderedKinds, op: opGreater},
	"GE":           {least: 1, most: 1, kinds: orderedKinds, op: opGreaterEqual},
	"BETWEEN":      {least: 2, most: 2, kinds: orderedKinds, op: opBetween},
	"IN":           {least: 1, most: maxIn, kinds: orderedKinds, op: opIn},
	"BEGINS_WITH":  {least: 1, most: 1, kinds: prefixKinds, op: opCall, call: "begins_with"},
	"CONTAINS":     {least: 1, most: 1, kinds: containedKinds, op: opCall, call: "contains"},
	"NOT_CONTAINS": {least: 1, most: 1, kinds: containedKinds, op: opCall, call: "contains"},
	"NULL":         {op: opCall, call: "attribute_not_exists"},
	"NOT_NULL":     {op: opCall, call: "attribute_exists"},
}

// Operators are the ComparisonOperators, in the order in which the service lists them.
var Operators = []string{"IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL", "NE", "LE", "BEGINS_WITH", "GE", "CONTAINS"}

// check validates the number and the types of the values.
func (c *Comparison) check() error {
	if err := checkName(c.Name); err != nil {
		return err
	}

	for _, v := range c.Values {
		if err := v.Err(); err != nil {
			return err
		}
	}

	of := comparators[c.Operator]
	if n := len(c.Values); n < of.least || n > of.most {
		return errorf("One or more parameter values were invalid: Invalid number of argument(s) for the %s ComparisonOperator", c.Operator)
	}

	for _, v := range c.Values {
		if of.kinds != nil && !slices.Contains(of.kinds, v.Kind) {
			return errorf("One or more parameter values were invalid: ComparisonOperator %s is not valid for %v AttributeValue type", c.Operator, v.Kind)
		}

		if v.Kind != c.Values[0].Kind {
			return errorf("One or more parameter values were invalid: AttributeValues inside AttributeValueList must be of same type")
		}
	}

	if of.op == opBetween {
		// Both bounds have one of orderedKinds, and the same one, so they have an order.
		if order, _ := attr.Compare(c.Values[0], c.Values[1]); order > 0 {
			return errorf("The BETWEEN condition was provided a range where the lower bound is greater than the upper bound")
		}
	}

	return nil
}

func checkName(name string) error {
	if name == "" {
		return errorf("Empty attribute name")
	}

	return nil
}

// node returns the condition that means the same as the comparison.
func (c *Comparison) node() *node {
	of := comparators[c.Operator]

	n := &node{op: of.op, text: of.call, args: []*node{PathNode(Path{{Name: c.Name}}).tree}}
	for _, v := range c.Values {
		n.args = append(n.args, ValueNode(v).tree)
	}

	if c.Operator != "NOT_CONTAINS" {
		return n
	}

	// NOT_CONTAINS is false where there is no attribute, unlike NOT contains(...).
	exists := &node{op: opCall, text: "attribute_exists", args: n.args[:1]}

	return &node{op: opAnd, args: []*node{exists, {op: opNot, args: []*node{n}}}}
}

// CheckComparisons validates the values of the comparisons. The operators must be some of
// Operators.
func CheckComparisons(list []Comparison) error {
	for i := range list {
		if err := list[i].check(); err != nil {
			return err
		}
	}

	return nil
}

// NewCondition returns the condition that all comparisons hold or, if or is set, that at least one
// of them holds. CheckComparisons must have accepted them; there must be at least one.
func NewCondition(list []Comparison, or bool) *Condition {
	join := opAnd
	if or {
		join = opOr
	}

	root := list[0].node()
	for i := range list[1:] {
		root = &node{op: join, args: []*node{root, list[1+i].node()}}
	}

	return &Condition{root}
}

// NewKeyTerms returns the key condition with these comparisons. CheckComparisons must have accepted
// them.
func NewKeyTerms(list []Comparison) (*KeyTerms, error) {
	terms := make([]keyTerm, 0, len(list))
	for _, c := range list {
		// An operator that no key takes leaves RangeNone, which keyTerm.check refuses.
		t := keyTerm{name: c.Name}

		switch of := comparators[c.Operator]; {
		case of.op == opBetween:
			t.Op, t.Lo, t.Hi = RangeBetween, c.Values[0], c.Values[1]
		case c.Operator == "BEGINS_WITH":
			t.Op, t.Lo = RangeBeginsWith, c.Values[0]
		case rangeOps[of.op] != RangeNone:
			t.Op, t.Lo = rangeOps[of.op], c.Values[0]
		}
		terms = append(terms, t)
	}

	return newKeyTerms(terms)
}

// NewProjection returns the projection to top-level attributes of these names.
func NewProjection(names []string) (*Projection, error) {
	paths := make([]Path, len(names))
	for i, name := range names {
		if err := checkName(name); err != nil {
			return nil, err
		}
		paths[i] = Path{{Name: name}}
	}

	return newProjection(paths), nil
}
