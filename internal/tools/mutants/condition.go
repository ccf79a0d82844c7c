package main

import (
	"go/ast"
	"regexp"
	"strings"
)

var (
	// conditionRule recognizes a DynamoDB condition by its text alone.
	conditionRule = regexp.MustCompile(`attribute_(not_)?exists\(| (AND|OR) .*[:#]|[:#].* (AND|OR) `)
	connectorRule = regexp.MustCompile(` (AND|OR) `)
	functionRule  = regexp.MustCompile(`attribute_(not_)?exists\(`)
	compareRule   = regexp.MustCompile(` (=|<>|<=|>=|<|>) `)
)

// compared maps a comparison in a condition to its replacement.
var compared = map[string]string{"=": "<>", "<>": "=", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}

// condition plants faults in a DynamoDB condition: it leaves out a part, swaps AND and OR, changes
// a comparison, or turns a function into its opposite.
func (p *planter) condition(literal *ast.BasicLit, known bool) {
	text := literal.Value
	if !known && !conditionRule.MatchString(text) {
		return
	}
	base := p.offset(literal.Pos())
	replace := func(begin, end int, is string) { p.replaceAt(base+begin, base+end, is) }

	for _, at := range connectorRule.FindAllStringIndex(text, -1) {
		other := map[string]string{" AND ": " OR ", " OR ": " AND "}[text[at[0]:at[1]]]
		replace(at[0], at[1], other)
	}

	// Each operand is left out once with the connector on either side, so that the rest is still an
	// expression.
	for _, part := range parts(text) {
		replace(part[0], part[1], "")
	}

	for _, at := range functionRule.FindAllStringIndex(text, -1) {
		other := "attribute_exists("
		if text[at[0]:at[1]] == other {
			other = "attribute_not_exists("
		}
		replace(at[0], at[1], other)
	}

	for _, at := range compareRule.FindAllStringIndex(text, -1) {
		replace(at[0], at[1], " "+compared[strings.TrimSpace(text[at[0]:at[1]])]+" ")
	}
}

// parts returns the places of the operands of AND and OR in a literal, each with the connector that
// must be left out with it. An operand in parentheses has operands of its own.
func parts(text string) [][2]int {
	var found [][2]int
	for _, at := range connectorRule.FindAllStringIndex(text, -1) {
		begin, end := at[0], at[1]
		left, right := operandBefore(text, begin), operandAfter(text, end)
		found = append(found, [2]int{left, end}, [2]int{begin, right})
	}

	return unique(found)
}

// operandBefore returns where the operand that ends at the offset begins.
func operandBefore(text string, end int) int {
	depth := 0
	for i := end - 1; i > 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			// The parenthesis belongs to an expression around the operand.
			if depth--; depth < 0 {
				return i + 1
			}
		}

		if depth == 0 && (strings.HasSuffix(text[:i], " AND ") || strings.HasSuffix(text[:i], " OR ")) {
			return i
		}
	}

	return 1 // behind the quote
}

// operandAfter returns where the operand that begins at the offset ends.
func operandAfter(text string, begin int) int {
	depth := 0
	for i := begin; i < len(text)-1; i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return i
			}
		}

		if depth == 0 && (strings.HasPrefix(text[i:], " AND ") || strings.HasPrefix(text[i:], " OR ")) {
			return i
		}
	}

	return len(text) - 1 // before the quote
}

func unique(places [][2]int) [][2]int {
	seen := map[[2]int]bool{}

	var out [][2]int
	for _, p := range places {
		if !seen[p] {
			out = append(out, p)
		}
		seen[p] = true
	}

	return out
}
