package expression

import "ratchet/embedded/internal/attr"

// Node is a part of a condition, an update or a projection that a caller builds itself instead of
// parsing it, because the caller has a language of its own. Its messages are the messages of
// expressions, without "Invalid ConditionExpression: " in front.
type Node struct{ tree *node }

// PathNode returns an operand: the value that an item has at the path.
func PathNode(p Path) Node { return Node{&node{op: opPath, path: p, built: true}} }

// ValueNode returns an operand with that value, which must be valid.
func ValueNode(v attr.Value) Node { return Node{&node{op: opValue, value: v, built: true}} }

// CallNode returns a call of a function, such as "size".
func CallNode(function string, args ...Node) Node {
	return Node{&node{op: opCall, text: function, args: trees(args)}}
}

// operators are the operations by the signs that expressions write for them.
var operators = map[string]op{
	"=": opEqual, "<>": opNotEqual, "<": opLess, "<=": opLessEqual, ">": opGreater, ">=": opGreaterEqual,
	"BETWEEN": opBetween, "IN": opIn, "AND": opAnd, "OR": opOr, "NOT": opNot, "+": opPlus, "-": opMinus,
}

// OperatorNode returns an operation: a comparison, AND, OR and "+" of two nodes, NOT of one, BETWEEN of
// three, IN of two or more. The sign must be a key of operators.
func OperatorNode(sign string, args ...Node) Node {
	return Node{&node{op: operators[sign], text: sign, args: trees(args)}}
}

func trees(nodes []Node) []*node {
	list := make([]*node, len(nodes))
	for i, n := range nodes {
		list[i] = n.tree
	}

	return list
}

// BuildCondition returns the node as a condition.
func BuildCondition(n Node) (*Condition, error) {
	if err := n.tree.check(inCondition); err != nil {
		return nil, err
	}

	if err := n.tree.bind(nil); err != nil {
		return nil, err
	}

	return &Condition{n.tree}, nil
}

// Clause is one clause of an update: SET, REMOVE, ADD or DELETE.
type Clause struct {
	Section string
	Path    Path
	Value   Node // not for REMOVE
}

var sections = map[string]kind{"SET": kSet, "REMOVE": kRemove, "ADD": kAdd, "DELETE": kDelete}

// BuildUpdate returns the update with these clauses.
func BuildUpdate(clauses []Clause) (*Update, error) {
	u := &Update{}
	for _, c := range clauses {
		a := action{section: sections[c.Section], path: c.Path, value: c.Value.tree}
		if a.value != nil {
			if err := a.value.check(inSet); err != nil {
				return nil, err
			}
		}
		u.actions, u.paths = append(u.actions, a), append(u.paths, c.Path)
	}

	// The checks are in the order of a parsed update: functions, then overlapping paths,
	// then operands.
	if err := checkConflicts(u.paths); err != nil {
		return nil, err
	}

	for _, a := range u.actions {
		if a.value == nil {
			continue
		}

		if err := a.value.bind(nil); err != nil {
			return nil, err
		}
	}
	u.sortActions()

	return u, nil
}

// BuildProjection returns the projection to the paths.
func BuildProjection(paths []Path) (*Projection, error) {
	if err := checkConflicts(paths); err != nil {
		return nil, err
	}

	return newProjection(paths), nil
}

func checkConflicts(paths []Path) error {
	for n := range paths {
		for _, earlier := range paths[:n] {
			if err := checkConflict(paths[n], earlier); err != nil {
				return err
			}
		}
	}

	return nil
}
