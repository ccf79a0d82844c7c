package main

import (
	"go/ast"
	"go/token"
	"strings"
)

// swaps maps an operator to the operators that replace it.
var swaps = map[token.Token][]string{
	token.EQL:  {"!="},
	token.NEQ:  {"=="},
	token.LSS:  {"<=", ">="},
	token.LEQ:  {"<", ">"},
	token.GTR:  {">=", "<="},
	token.GEQ:  {">", "<"},
	token.LAND: {"||"},
	token.LOR:  {"&&"},
	token.ADD:  {"-"},
	token.SUB:  {"+"},
	token.MUL:  {"/"},
	token.QUO:  {"*"},
}

// links are the methods of a builder of updates whose calls can be left out.
var links = map[string]bool{
	"If": true, "IfEquals": true, "IfAbsent": true, "IfPresent": true,
	"Set": true, "SetValue": true, "Add": true, "Remove": true, "RemoveAttribute": true,
}

// visit plants the mutants of a node. The stack holds the nodes around it.
func (p *planter) visit(n ast.Node, stack []ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		p.binary(n)
	case *ast.IfStmt:
		p.negate(n.Cond)
	case *ast.CaseClause:
		// The cases of a switch without a tag are conditions; others are values.
		if s, ok := stack[len(stack)-2].(*ast.SwitchStmt); ok && s.Tag == nil {
			for _, condition := range n.List {
				p.negate(condition)
			}
		}
	case *ast.ReturnStmt:
		p.returned(n, stack)
	case *ast.ExprStmt:
		// A function that ends with its panic does not compile without it.
		if call, ok := n.X.(*ast.CallExpr); ok && !isCallOf(call, "panic") {
			p.replace(n.Pos(), n.End(), "")
		}
	case *ast.IncDecStmt:
		is := map[token.Token]string{token.INC: "--", token.DEC: "++"}[n.Tok]
		p.replace(n.TokPos, n.End(), is)
	case *ast.CallExpr:
		p.link(n, stack)
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			p.condition(n, isCondition(n, stack))
		}
	// An import path is a string, but no condition.
	case *ast.GenDecl:
		return n.Tok != token.IMPORT
	case *ast.StructType: // tags
		return false
	}

	return true
}

func (p *planter) binary(n *ast.BinaryExpr) {
	// The opposite of a concatenation does not compile.
	if n.Op == token.ADD && (isText(n.X) || isText(n.Y)) {
		return
	}

	for _, is := range swaps[n.Op] {
		p.replaceAt(p.offset(n.OpPos), p.offset(n.OpPos)+len(n.Op.String()), is)
	}
}

// isText reports whether the expression is a string literal, or a sum with one.
func isText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return isText(e.X) || isText(e.Y)
	}

	return false
}

// negate plants the negation of a condition that has no operator to swap.
func (p *planter) negate(condition ast.Expr) {
	switch c := condition.(type) {
	// visit swaps the operators of these itself.
	case *ast.BinaryExpr, *ast.ParenExpr:
		return
	case *ast.UnaryExpr:
		if c.Op == token.NOT {
			p.replaceAt(p.offset(c.Pos()), p.offset(c.Pos())+1, "")
			return
		}
	}
	text := string(p.text[p.offset(condition.Pos()):p.offset(condition.End())])
	p.replace(condition.Pos(), condition.End(), "!("+text+")")
}

// returned plants an error that is not returned, and the opposite of a truth value. A result beside
// an error means nothing to the caller, so it gets no fault.
func (p *planter) returned(n *ast.ReturnStmt, stack []ast.Node) {
	last := len(n.Results) - 1
	failed := last > 0 && p.inErrorFunction(stack) && !isNil(n.Results[last])

	for i, result := range n.Results {
		name, isName := result.(*ast.Ident)

		switch {
		case failed && i < last:
		case isName && name.Name == "true":
			p.replace(result.Pos(), result.End(), "false")
		case isName && name.Name == "false":
			p.replace(result.Pos(), result.End(), "true")
		case i < last || isNil(result) || !p.inErrorFunction(stack):
		case isCall(result) && len(n.Results) == 1 && !isErrorMaker(result):
			// A call that may return several results, or no error.
		default:
			p.replace(result.Pos(), result.End(), "nil")
		}
	}
}

// inErrorFunction reports whether the innermost function around a node returns an error.
func (p *planter) inErrorFunction(stack []ast.Node) bool {
	for i := len(stack) - 1; i >= 0; i-- {
		if f, ok := stack[i].(*ast.FuncLit); ok {
			// A function literal returns on its own, whatever the function around it does.
			return returnsError(f.Type)
		}
	}

	return len(p.results) == 1 && p.results[0]
}

func isNil(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "nil"
}

func isCall(e ast.Expr) bool {
	_, ok := e.(*ast.CallExpr)
	return ok
}

// isErrorMaker reports whether the call is one of fmt.Errorf, errors.New and errors.Join.
func isErrorMaker(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)

	return ok && (f.Sel.Name == "Errorf" || f.Sel.Name == "New" || f.Sel.Name == "Join")
}

func isCallOf(call *ast.CallExpr, name string) bool {
	f, ok := call.Fun.(*ast.Ident)
	return ok && f.Name == name
}

// link plants a chain of calls without one of them.
func (p *planter) link(call *ast.CallExpr, stack []ast.Node) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !links[f.Sel.Name] {
		return
	}

	// A call that is a statement is left out as a whole by visit.
	if _, statement := stack[len(stack)-1].(*ast.ExprStmt); statement {
		return
	}

	// Only a link of a chain returns its receiver.
	_, chained := f.X.(*ast.CallExpr)
	if next, ok := stack[len(stack)-1].(*ast.SelectorExpr); !chained && !(ok && next.X == call) {
		return
	}
	p.replace(f.X.End(), call.End(), "")
}

// isCondition reports whether a string is known to be a condition by where it stands: as
// the argument of a builder's If, or under a name that says so.
func isCondition(literal *ast.BasicLit, stack []ast.Node) bool {
	for i := len(stack) - 1; i >= 0; i-- {
		switch n := stack[i].(type) {
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			// aws.String and fmt.Sprintf stand between the text and its use.
			if ok && (f.Sel.Name == "String" || f.Sel.Name == "Sprintf") {
				continue // aws.String
			}

			return ok && f.Sel.Name == "If"
		case *ast.KeyValueExpr:
			return mentionsCondition(n.Key)
		case *ast.AssignStmt:
			return mentionsCondition(n.Lhs[0])
		case *ast.ValueSpec:
			return mentionsCondition(n.Names[0])
		// Beyond the statement there is nothing that names the text.
		case *ast.BlockStmt:
			return false
		}
	}

	return false
}

func mentionsCondition(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && strings.Contains(strings.ToLower(name.Name), "condition")
}
