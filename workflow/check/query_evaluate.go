package check

import (
	"slices"
	"strings"

	"ratchet/workflow/internal/document"
)

// queryTemplate evaluates a field of a state in JSONata: constants with expressions in them.
func (sc scope) queryTemplate(n *document.Node) *value {
	switch n.Kind {
	case document.Map:
		members := map[string]*value{}
		for _, m := range n.Members {
			members[m.Name] = sc.queryTemplate(m.Value)
		}

		return objectOf(members)
	case document.List:
		elements := make([]*value, len(n.Items))
		for i, item := range n.Items {
			elements[i] = sc.queryTemplate(item)
		}

		return listOf(elements)
	case document.String:
		if isQuery(n.Text) {
			v := sc.query(sc.read(n.Text))
			// The language has no value for "nothing": the state fails with States.QueryEvaluationError.
			if v.kind == missing {
				sc.fault(n.Text, false)
			}

			return v
		}
	}

	return constantOf(n)
}

// read reads an expression, once for each text.
func (x *explorer) read(text string) *query {
	q := x.queries[text]
	if q == nil {
		q = readQuery(text)
		x.queries[text] = q
	}

	return q
}

// query evaluates an expression of JSONata.
func (sc scope) query(q *query) *value {
	switch q.op {
	case queryVariable:
		return sc.queryVariable(q.name)
	case queryMember:
		return sc.queryMember(q)
	case queryElement:
		i, _ := indexOf(q.name)
		of := sc.query(q.subs[0])
		// In JSONata, a value that is no list is a list of itself.
		if of.kind == object || of.kind >= position {
			return []*value{of, missingValue}[min(i, 1)]
		}

		return of.element(i)
	case queryText:
		return newValue(value{kind: text, name: q.name})
	case queryLiteral:
		return newValue(value{kind: literal, name: q.name})
	case queryCall:
		return sc.queryFunction(q)
	case queryObject:
		members := map[string]*value{}
		for i, name := range q.names {
			// A member without a value is left out.
			if v := sc.query(q.subs[i]); v.kind != missing {
				members[name] = v
			}
		}

		return objectOf(members)
	case queryList:
		return listOf(sc.queries(q.subs))
	case "+":
		return sum(sc.query(q.subs[0]), sc.query(q.subs[1]))
	case queryUnknown:
		// Any view may be in what the expression reads.
		return unfollowed(sc.everything()...)
	}

	// Comparisons are no views, whatever they compare.
	if slices.Contains([]string{"=", "!=", "<", "<=", ">", ">=", "in", "and", "or", "&"}, q.op) {
		return foreignValue
	}

	return unfollowed(sc.queries(q.subs)...)
}

func (sc scope) queries(subs []*query) []*value {
	values := make([]*value, len(subs))
	for i, sub := range subs {
		values[i] = sc.query(sub)
	}

	return values
}

// everything returns all values that an expression can see.
func (sc scope) everything() []*value {
	all := []*value{sc.data}
	for _, v := range []*value{sc.result, sc.failure} {
		if v != nil {
			all = append(all, v)
		}
	}

	for f := sc.frame; f != nil; f = f.up {
		all = append(all, f.vars)
		if f.alone {
			break
		}
	}

	return all
}

// queryVariable evaluates $name. $states has the data of the state; only its members are followed.
func (sc scope) queryVariable(name string) *value {
	if name != "states" {
		return sc.frame.variable(name)
	}

	return unfollowed(sc.everything()...)
}

// queryMember evaluates a member of a value.
func (sc scope) queryMember(q *query) *value {
	// The context object has the input of the execution.
	if path, found := strings.CutPrefix(q.path(), "states.context."); found {
		return sc.context(strings.Split(path, "."))
	}

	// $states itself would be nested deeper than values that are followed.
	for path, v := range map[string]*value{"input": sc.data, "result": sc.result, "errorOutput": sc.failure} {
		switch {
		case q.path() != "states."+path:
		case v == nil:
			return missingValue
		default:
			return v
		}
	}

	of := sc.query(q.subs[0])
	// A member of a list is that of each element.
	if of.kind == list {
		return unfollowed(of)
	}

	return of.member(q.name)
}

// path returns the names of a variable and its members, "" if the expression is no such path.
func (q *query) path() string {
	switch q.op {
	case queryVariable:
		return q.name
	case queryMember:
		if outer := q.subs[0].path(); outer != "" {
			return outer + "." + q.name
		}
	}

	return ""
}

func (sc scope) queryFunction(q *query) *value {
	args := sc.queries(q.subs)

	switch {
	case q.name == "parse" && len(args) == 1:
		return parsed(args[0])
	case q.name == "string" && len(args) == 1 && args[0].kind == position:
		return newValue(value{kind: causeOf, view: args[0].view, name: args[0].name})
	case (q.name == "string" || q.name == "number") && len(args) == 1 && (args[0].kind > literal || args[0].kind == text):
		return args[0]
	case q.name == "merge" && len(args) == 1 && args[0].kind == list && len(args[0].values) > 0:
		merged := args[0].values[0]
		for _, v := range args[0].values[1:] {
			merged = merged.merge(v)
		}

		return merged
	case slices.Contains([]string{"exists", "not", "boolean", "count", "length", "uuid", "random", "now", "millis", "type"}, q.name):
		return foreignValue
	}

	return unfollowed(args...)
}

// decide evaluates a condition of JSONata. steady says that an answer of maybe is the same each time: it
// rests on data that does not change.
func (sc scope) decide(q *query) (answer truth, steady bool) {
	switch {
	case q.op == "and" || q.op == "or":
		left, steadyLeft := sc.decide(q.subs[0])
		right, steadyRight := sc.decide(q.subs[1])

		return combine(q.op == "and", left, right), steadyLeft && steadyRight
	case q.op == queryCall && q.name == "not" && len(q.subs) == 1:
		answer, steady = sc.decide(q.subs[0])
		return answer.not(), steady
	case q.op == queryCall && q.name == "exists" && len(q.subs) == 1:
		v := sc.query(q.subs[0])
		if v.kind == foreign || v.kind == untracked {
			return maybe, v == fixedValue
		}

		return truthOf(v.kind != missing), true
	case q.op == queryLiteral && q.name != "null":
		return truthOf(q.name == "true"), true
	case q.op == "=" || q.op == "!=":
		left, right := sc.query(q.subs[0]), sc.query(q.subs[1])
		// A comparison with nothing is false in any case.
		if left.kind == missing || right.kind == missing {
			return no, true
		}

		answer = sc.equal(left, right)
		if q.op == "!=" {
			answer = answer.not()
		}

		return answer, left.steady() && right.steady()
	case q.op == "in":
		return sc.among(q)
	}

	return maybe, sc.query(q) == fixedValue
}

// among evaluates "value in list".
func (sc scope) among(q *query) (answer truth, steady bool) {
	left, right := sc.query(q.subs[0]), sc.query(q.subs[1])
	if left.kind == missing {
		return no, true
	}

	if right.kind != list {
		return maybe, false
	}

	answer, steady = no, left.steady()
	for _, v := range right.values {
		answer = combine(false, answer, sc.equal(left, v))
		steady = steady && v.steady()
	}

	return answer, steady
}

// steady reports whether a value that is not known is the same each time.
func (v *value) steady() bool { return v.kind != foreign && v.kind != untracked || v == fixedValue }

// equal compares two values.
func (x *explorer) equal(a, b *value) truth {
	s, known := x.textOf(a)
	t, known2 := x.textOf(b)
	switch {
	case known && known2:
		return truthOf(s == t)
	case a.kind == literal && b.kind == literal && a.name == b.name && a.name != "":
		return yes
	// The state of an order is a text.
	case known && (b.kind == literal || b.kind == object || b.kind == list || b.kind == position),
		known2 && (a.kind == literal || a.kind == object || a.kind == list || a.kind == position):
		return no
	}

	return maybe
}

// textOf returns the content of a text or of an order's state.
func (x *explorer) textOf(v *value) (string, bool) {
	switch v.kind {
	case text:
		return v.name, true
	case stateOf:
		return string(x.order.name(v.view.known)), true
	}

	return "", false
}
