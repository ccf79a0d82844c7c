package expression

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// parser builds the syntax tree of one expression by recursive descent. It takes
// nodes and path steps from blocks of its own, so that an expression costs a
// handful of allocations.
type parser struct {
	lexer
	nodes     []node
	links     []*node // what the nodes' args are cut from
	steps     []Step
	operators int
	// deferred: what is read may be the left side of a comparison or a condition of
	// its own. Redundant parentheses in it count once that is known.
	deferred bool
}

// How much source a node and a step of a path usually take; the first blocks of them
// are made to fit.
const (
	bytesPerNode = 10
	bytesPerStep = 12
)

func newParser(src string) (*parser, *Error) {
	if src == "" {
		return nil, errorf("The expression can not be empty;")
	}

	if len(src) > maxSize {
		if size := utf8.RuneCountInString(src); size > maxSize {
			return nil, errorf("Expression size has exceeded the maximum allowed size; expression size: %d", size)
		}
	}

	return &parser{lexer: newLexer(src)}, nil
}

// finish checks that the source has ended, and what concerns it as a whole.
func (p *parser) finish() *Error {
	switch {
	case p.kind != kEnd:
		return p.syntaxError()
	case p.operators > maxOperators:
		return errorf("The expression contains too many operators; operator count: %d", maxOperators+1)
	default:
		return nil
	}
}

// node makes a node over args, which are copied.
func (p *parser) node(op op, text string, args ...*node) *node {
	if len(p.nodes) == cap(p.nodes) {
		p.nodes = make([]node, 0, len(p.src)/bytesPerNode+2)
	}

	p.nodes = append(p.nodes, node{op: op, text: text})
	n := &p.nodes[len(p.nodes)-1]
	if op > opValue {
		p.operators++
		from := len(p.links)
		if p.links == nil {
			p.links = make([]*node, 0, cap(p.nodes))
		}
		p.links = append(p.links, args...)
		n.args = p.links[from:len(p.links):len(p.links)]
	}

	return n
}

// expect moves past a token that must come now.
func (p *parser) expect(k kind) *Error {
	if p.kind != k {
		return p.syntaxError()
	}
	p.advance()

	return nil
}

// wrap reads the parenthesis that closes around n. Two pairs around the same are
// refused at once, except around what may still turn out to be no operand.
func (p *parser) wrap(n *node) (*node, *Error) {
	if err := p.expect(kClose); err != nil {
		return nil, err
	}
	n.redundant, n.parens = n.redundant || n.parens, true

	return n, nil
}

// settled refuses n when it stands in redundant parentheses.
func (n *node) settled() (*node, *Error) {
	if n.redundant {
		return nil, errorf("The expression has redundant parentheses;")
	}
	return n, nil
}

// operand reads a path, a value, a call, or one of these in parentheses.
func (p *parser) operand() (*node, *Error) {
	switch p.kind {
	case kOpen:
		p.advance()

		n, err := p.operand()
		if err != nil {
			return nil, err
		}

		if n, err = p.wrap(n); err != nil || p.deferred {
			return n, err
		}

		return n.settled()
	case kValue:
		n := p.node(opValue, p.text())
		p.advance()
		return n, nil
	case kWord:
		if p.scan(p.end).kind == kOpen {
			return p.call()
		}
	case kName:
	default:
		return nil, p.syntaxError()
	}

	path, err := p.path()
	if err != nil {
		return nil, err
	}
	n := p.node(opPath, "")
	n.path = path

	return n, nil
}

// call reads name(operand, ...).
func (p *parser) call() (*node, *Error) {
	name := p.text()
	p.advance()

	args, err := p.operands(nil)
	if err != nil {
		return nil, err
	}

	n := p.node(opCall, name)
	n.args = args
	for _, a := range args {
		n.redundant = n.redundant || a.redundant
	}

	return n, nil
}

// operands reads (operand, ...), at least one, and appends them to args.
func (p *parser) operands(args []*node) ([]*node, *Error) {
	if err := p.expect(kOpen); err != nil {
		return nil, err
	}

	for {
		n, err := p.operand()
		if err != nil {
			return nil, err
		}

		args = append(args, n)
		if p.kind != kComma {
			return args, p.expect(kClose)
		}
		p.advance()
	}
}

// path reads a document path. References and words are kept as written until check
// and bind have seen them.
func (p *parser) path() (Path, *Error) {
	from := len(p.steps)
	if err := p.member(); err != nil {
		return nil, err
	}

	for {
		switch p.kind {
		case kDot:
			p.advance()

			if err := p.member(); err != nil {
				return nil, err
			}
		case kOpenIndex:
			p.advance()

			if err := p.index(); err != nil {
				return nil, err
			}
		default:
			return Path(p.steps[from:len(p.steps):len(p.steps)]), nil
		}
	}
}

func (p *parser) member() *Error {
	if p.kind != kWord && p.kind != kName {
		return p.syntaxError()
	}

	if p.steps == nil {
		p.steps = make([]Step, 0, len(p.src)/bytesPerStep+2)
	}
	p.steps = append(p.steps, Step{Name: p.text()})
	p.advance()

	return nil
}

// index reads the rest of [number]. A number out of range stays as text until check
// refuses it.
func (p *parser) index() *Error {
	if p.kind != kNumber {
		return p.syntaxError()
	}

	step := Step{List: true}
	n, err := strconv.ParseInt(p.text(), 10, 64)
	if err != nil || n > math.MaxInt32 {
		step.Name = p.text()
	} else {
		step.Index = int(n)
	}
	p.steps = append(p.steps, step)
	p.advance()

	return p.expect(kCloseIndex)
}
