package expression

import (
	"slices"
	"strconv"
	"strings"

	"ratchet/embedded/internal/attr"
)

func integer(n int) attr.Value { return attr.Value{Kind: attr.N, Str: strconv.Itoa(n)} }

// Update is a parsed UpdateExpression.
type Update struct {
	actions []action
	paths   []Path // of the actions
	// writes are the indexes of the actions other than REMOVE, in ascending order of their paths.
	// removes are the indexes of the REMOVE actions, in descending order: elements are removed from
	// the back of a list, so that every index means a position before the update.
	writes, removes []int
	// room is the memory of both, if there are few actions.
	room [ordersAtHand]int
	// legacy is set for AttributeUpdates, which have a message of their own for operands whose
	// type does not fit.
	legacy bool
}

// ordersAtHand is the number of clauses whose order needs no further memory.
const ordersAtHand = 8

// action is one clause: SET path = value, REMOVE path, ADD path :value, DELETE path :value.
type action struct {
	section kind
	path    Path
	value   *node
}

// ParseUpdate parses an UpdateExpression.
func ParseUpdate(src string, params *Params) (*Update, error) {
	if params.err != nil {
		return nil, params.err
	}

	u, err := parse(&keptUpdates, src, readUpdate, params)
	if err != nil {
		return nil, invalidExpression("UpdateExpression", err)
	}
	u.sortActions()

	return u, nil
}

// Paths returns the document paths that the update writes, in the order of the source.
func (u *Update) Paths() []Path { return slices.Clone(u.paths) }

// WritesTo reports whether the update writes to the top-level attribute or to a part of it.
func (u *Update) WritesTo(name string) bool {
	return slices.ContainsFunc(u.paths, func(p Path) bool { return p[0].Name == name })
}

// Project returns the parts of an item that the update writes. Applied to the item before
// or after the update it gives ReturnValues UPDATED_OLD or UPDATED_NEW. Of a map or list it
// returns only the members or elements that were written.
func (u *Update) Project(item attr.Item) attr.Item { return newProjection(u.paths).Apply(item) }

// readUpdate returns the tree of an update whose references are not resolved.
func readUpdate(src string) (*Update, *Error) {
	p, err := newParser(src)
	if err != nil {
		return nil, err
	}

	// This is at least the number of clauses: a comma or one of four sections begins each clause.
	clauses := strings.Count(src, ",") + 4

	p.nodes = make([]node, 0, clauses)
	u := &Update{actions: make([]action, 0, clauses), paths: make([]Path, 0, clauses)}
	sections := make([]string, 0, 4)

	// The loop runs at least once: the end of the source is no section, so an update without
	// clauses is refused.
	for first := true; first || p.kind != kEnd; first = false {
		section, word := p.kind, ""
		switch section {
		case kSet:
			word = "SET"
		case kRemove:
			word = "REMOVE"
		case kAdd:
			word = "ADD"
		case kDelete:
			word = "DELETE"
		default:
			return nil, p.syntaxError()
		}
		sections = append(sections, word)
		p.advance()

		if err := p.actions(u, section); err != nil {
			return nil, err
		}
	}

	if err := p.finish(); err != nil {
		return nil, err
	}

	return u, u.check(sections)
}

// actions reads the clauses of one section.
func (p *parser) actions(u *Update, section kind) *Error {
	for {
		path, err := p.path()
		if err != nil {
			return err
		}

		a := action{section: section, path: path}
		switch section {
		case kSet:
			if err := p.expect(kEqual); err != nil {
				return err
			}
			a.value, err = p.sum()
		case kAdd, kDelete:
			// ADD and DELETE take a :value and nothing else.
			if p.kind != kValue {
				return p.syntaxError()
			}
			a.value, err = p.operand()
		}

		if err != nil {
			return err
		}
		u.actions, u.paths = append(u.actions, a), append(u.paths, path)

		if p.kind != kComma {
			return nil
		}
		p.advance()
	}
}

// sum reads the value of a SET: an operand, or two joined by + or -, or either in
// parentheses.
func (p *parser) sum() (*node, *Error) {
	left, err := p.addend()

	// A sum in parentheses cannot be added to again: a SET has two addends at most.
	if err != nil || left.op >= opPlus || p.kind != kPlus && p.kind != kMinus {
		return left, err
	}

	op, text := opPlus, p.text()
	if p.kind == kMinus {
		op = opMinus
	}
	p.advance()

	right, err := p.operand()
	if err != nil {
		return nil, err
	}

	return p.node(op, text, left, right), nil
}

func (p *parser) addend() (*node, *Error) {
	if p.kind != kOpen {
		return p.operand()
	}
	p.advance()

	n, err := p.sum()
	if err != nil {
		return nil, err
	}

	if n, err = p.closeParenthesis(n); err != nil {
		return nil, err
	}

	return n.checkParentheses()
}

func (u *Update) check(sections []string) *Error {
	for _, a := range u.actions {
		if err := a.path.check(); err != nil {
			return err
		}

		if a.value != nil {
			if err := a.value.check(inSet); err != nil {
				return err
			}
		}
	}

	for n, word := range sections {
		if slices.Contains(sections[:n], word) {
			return errorf("The %q section can only be used once in an update expression;", word)
		}
	}

	return nil
}

// bind resolves all paths, then all values, each from the last clause to the first, as
// DynamoDB does. The order shows only in which of several errors is reported.
func (u *Update) bind(params *Params) *Error {
	if err := bindPaths(u.paths, params); err != nil {
		return err
	}

	for _, a := range slices.Backward(u.actions) {
		if a.value == nil {
			continue
		}

		if err := a.value.bind(params); err != nil {
			return err
		}

		if a.section != kSet {
			if err := a.checkSetOperand(); err != nil {
				return err
			}
		}
	}

	return nil
}

// kindNames are the types as the messages about ADD and DELETE write them. Of these
// types, ADD takes numbers only, and DELETE takes none.
var kindNames = map[attr.Kind]string{
	attr.S:    "STRING",
	attr.N:    "NUMBER",
	attr.B:    "BINARY",
	attr.BOOL: "BOOLEAN",
	attr.NULL: "NULL",
	attr.M:    "MAP",
	attr.L:    "LIST",
}

// checkSetOperand checks the type of the operand of ADD and DELETE.
func (a action) checkSetOperand() *Error {
	k := a.value.value.Kind
	name, refused := kindNames[k]
	if !refused || a.section == kAdd && k == attr.N {
		return nil
	}

	word := "ADD"
	if a.section == kDelete {
		word = "DELETE"
	}

	return errorf("Incorrect operand type for operator or function; operator: %s, operand type: %s, typeSet: ALLOWED_FOR_%s_OPERAND", word, name, word)
}

// sortActions sets the order in which the actions are applied.
func (u *Update) sortActions() {
	order := slices.Grow(u.room[:0], len(u.actions))
	for n, a := range u.actions {
		if a.section != kRemove {
			order = append(order, n)
		}
	}

	u.writes = slices.Clip(order)
	for n, a := range u.actions {
		if a.section == kRemove {
			order = append(order, n)
		}
	}

	// Both orders are in one block, removes behind writes.
	u.removes = order[len(u.writes):]
	byPath := func(a, b int) int { return u.actions[a].path.compare(u.actions[b].path) }
	slices.SortFunc(u.writes, byPath)
	slices.SortFunc(u.removes, func(a, b int) int { return byPath(b, a) })
}
