package expression

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// parser builds the syntax tree of one expression by recursive descent. It takes nodes,
// arguments and path steps from blocks, so that an expression needs only a few allocations.
type parser struct {
	lexer
	nodes     []node
	links     []*node // the block of the nodes' args
	steps     []Step  // the block of the paths
	operators int
	// undecided is set while the parser cannot tell whether it reads the left side of a
	// comparison or a whole condition. DynamoDB reports redundant parentheses around the
	// two at different times, so the error waits until that is known.
	undecided bool
}

// How much source a node and a step of a path usually take. The first blocks are allocated
// for that many.
const (
	bytesPerNode = 10
	bytesPerStep = 12
)

// newParser returns a parser by value: it does not outlive its caller, whose stack has room for it.
func newParser(src string) (parser, *Error) {
	if src == "" {
		return parser{}, errorf("The expression can not be empty;")
	}

	// The limit counts characters, of which there are never more than bytes.
	if len(src) > maxSize {
		if size := utf8.RuneCountInString(src); size > maxSize {
			return parser{}, errorf("Expression size has exceeded the maximum allowed size; expression size: %d", size)
		}
	}

	return parser{lexer: newLexer(src)}, nil
}

// finish checks that the source has ended, and the number of operators in all of it.
func (p *parser) finish() *Error {
	switch {
	case p.kind != kEnd:
		return p.syntaxError()
	// The message has the first count above the limit, whatever the count is.
	case p.operators > maxOperators:
		return errorf("The expression contains too many operators; operator count: %d", maxOperators+1)
	default:
		return nil
	}
}

// node returns a new node with a copy of args.
func (p *parser) node(op op, text string, args ...*node) *node {
	// A full block is left to the nodes in it: growing it would move them, and the tree
	// points to them.
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

		// Later nodes append behind these args. When append moves the block, these args keep the
		// old one.
		n.args = p.links[from:len(p.links):len(p.links)]
	}

	return n
}

// expect moves past the current token, which must be of this kind.
func (p *parser) expect(k kind) *Error {
	if p.kind != k {
		return p.syntaxError()
	}
	p.advance()

	return nil
}

// closeParenthesis reads the closing parenthesis after n and marks n as redundant if that is
// its second pair.
func (p *parser) closeParenthesis(n *node) (*node, *Error) {
	if err := p.expect(kClose); err != nil {
		return nil, err
	}
	n.redundant, n.parens = n.redundant || n.parens, true

	return n, nil
}

// checkParentheses returns n, or the error if n stands in redundant parentheses.
func (n *node) checkParentheses() (*node, *Error) {
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

		// While undecided, comparison reports redundant parentheses later.
		if n, err = p.closeParenthesis(n); err != nil || p.undecided {
			return n, err
		}

		return n.checkParentheses()
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

	var room [2]*node // no function has more

	args, err := p.operands(room[:0])
	if err != nil {
		return nil, err
	}

	n := p.node(opCall, name, args...)

	// An argument that was read while undecided has not reported its redundant parentheses.
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

// path reads a document path. Its steps keep references and words as they are written; check
// and bind come later.
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
			// Like the args of a node: later paths append behind this one, or in a new block.
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

// index reads the rest of [number]. A number out of range stays a text, which check refuses:
// DynamoDB reports it after the mistakes in the syntax.
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
