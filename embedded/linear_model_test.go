package embedded

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
)

// linearItems is how many items a scene has: few, so that calls meet.
const linearItems = 3

// linearItem is an item or its absence.
type linearItem struct {
	there bool
	v     int
	group string
}

func (i linearItem) String() string {
	if !i.there {
		return "-"
	}

	return fmt.Sprintf("%d%s", i.v, i.group)
}

// linearWrite writes one item, alone or as a part of a transaction.
type linearWrite struct {
	verb  string // put, add, delete or check
	n     int    // of the item
	v     int
	group string
	// when is the condition: "" for none, "absent", or "equal" if v must equal is.
	when string
	is   int
}

// on returns the item after the write, and whether the condition holds.
func (w linearWrite) on(i linearItem) (after linearItem, holds bool) {
	switch w.when {
	case "absent":
		holds = !i.there
	case "equal":
		holds = i.there && i.v == w.is
	default:
		holds = true
	}

	switch {
	case !holds, w.verb == "check":
		return i, holds
	case w.verb == "delete":
		return linearItem{}, true
	case w.verb == "add":
		return linearItem{true, i.v + w.v, w.group}, true
	default:
		return linearItem{true, w.v, w.group}, true
	}
}

// linearCall is a call of a client.
type linearCall struct {
	verb   string // write, transact, get, transactGet, query, local or global
	writes []linearWrite
	n      int    // of the item to get
	group  string // to query
}

// linearAnswer is the answer that a client saw. A call without an answer may take effect at any
// later moment, or never.
type linearAnswer struct {
	unknown bool
	text    string
}

// linearState is the state of a scene's items.
type linearState [linearItems]linearItem

// answer returns the one right answer to a call at this moment, and the state after it.
func (s linearState) answer(c linearCall) (text string, after linearState) {
	switch c.verb {
	case "write", "transact":
		return s.write(c)
	case "get":
		return s[c.n].String(), s
	case "transactGet":
		return fmt.Sprint(s[:]), s
	case "query":
		return s.list("", func(a, b int) int { return cmp.Compare(a, b) }), s
	default: // an index, in the order of v
		return s.list(c.group, func(a, b int) int { return cmp.Or(cmp.Compare(s[a].v, s[b].v), cmp.Compare(a, b)) }), s
	}
}

// write makes all writes of a call or none.
func (s linearState) write(c linearCall) (text string, after linearState) {
	after = s
	reasons, refused := make([]string, len(c.writes)), false

	for k, w := range c.writes {
		item, holds := w.on(s[w.n])
		after[w.n], reasons[k] = item, "none"

		if !holds {
			refused, reasons[k] = true, s[w.n].String()
		}
	}

	switch w := c.writes[0]; {
	case refused:
		return fmt.Sprint("refused ", reasons), s
	case c.verb == "transact":
		return "done", after
	case w.verb == "add":
		return after[w.n].String(), after
	default:
		return s[w.n].String(), after
	}
}

// list returns the items of a group, or all if it is "", in an order of their numbers.
func (s linearState) list(group string, order func(a, b int) int) string {
	var numbers []int
	for n, item := range s {
		if item.there && (group == "" || item.group == group) {
			numbers = append(numbers, n)
		}
	}
	slices.SortFunc(numbers, order)

	texts := make([]string, len(numbers))
	for k, n := range numbers {
		texts[k] = fmt.Sprintf("%d=%s", n, s[n])
	}

	return strings.Join(texts, " ")
}

// linearModel is the specification of a scene: its calls as if they came one after the other.
func linearModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return linearState{} },
		Step: func(state, input, output any) (bool, any) {
			right, after := state.(linearState).answer(input.(linearCall))
			answer := output.(linearAnswer)

			return answer.unknown || answer.text == right, after
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
	}
}

// TestTheModelOfLinearCallsFindsWrongAnswers: each history is accepted with its right answer and
// refused with its wrong one.
func TestTheModelOfLinearCallsFindsWrongAnswers(t *testing.T) {
	t.Parallel()

	put := func(n, v int, group string) linearCall {
		return linearCall{verb: "write", writes: []linearWrite{{verb: "put", n: n, v: v, group: group}}}
	}
	add := linearCall{verb: "write", writes: []linearWrite{{verb: "add", v: 1, group: "a"}}}
	both := linearCall{verb: "transact", writes: []linearWrite{{verb: "put", n: 0, v: 5, group: "a"}, {verb: "put", n: 1, v: 6, group: "a"}}}
	get, all := linearCall{verb: "get"}, linearCall{verb: "transactGet"}

	type step struct {
		call   linearCall
		answer string
	}

	for name, c := range map[string]struct {
		before       []step
		call         linearCall
		right, wrong string
	}{
		"a stale read":                        {[]step{{put(0, 1, "a"), "-"}, {put(0, 2, "a"), "1a"}}, get, "2a", "1a"},
		"an update that was lost":             {[]step{{add, "1a"}, {add, "2a"}}, add, "3a", "2a"},
		"half a transaction":                  {[]step{{both, "done"}}, all, "[5a 6a -]", "[5a - -]"},
		"an item that is missing in a query":  {[]step{{both, "done"}}, linearCall{verb: "query"}, "0=5a 1=6a", "0=5a"},
		"an index behind its table":           {[]step{{put(0, 1, "a"), "-"}, {put(0, 1, "b"), "1a"}}, linearCall{verb: "global", group: "a"}, "", "0=1a"},
		"an index in the order of its table":  {[]step{{put(0, 9, "a"), "-"}, {put(1, 2, "a"), "-"}}, linearCall{verb: "local"}, "1=2a 0=9a", "0=9a 1=2a"},
		"a condition that was not looked at":  {[]step{{put(0, 1, "a"), "-"}}, linearCall{verb: "write", writes: []linearWrite{{verb: "delete", when: "equal", is: 2}}}, "refused [1a]", "1a"},
		"a refusal without a reason":          {nil, linearCall{verb: "transact", writes: []linearWrite{{verb: "put", when: "equal"}, {verb: "check", n: 1, when: "absent"}}}, "refused [- none]", "refused [none none]"},
		"a deleted item that is there again":  {[]step{{put(0, 1, "a"), "-"}, {linearCall{verb: "write", writes: []linearWrite{{verb: "delete"}}}, "1a"}}, get, "-", "1a"},
		"a transaction of which nothing came": {[]step{{both, "done"}}, linearCall{verb: "global", group: "a"}, "0=5a 1=6a", ""},
	} {
		var history []porcupine.Operation
		for k, s := range c.before {
			history = append(history, porcupine.Operation{Input: s.call, Output: linearAnswer{text: s.answer}, Call: int64(2 * k), Return: int64(2*k + 1)})
		}

		for answer, want := range map[string]bool{c.right: true, c.wrong: false} {
			last := porcupine.Operation{Input: c.call, Output: linearAnswer{text: answer}, Call: 100, Return: 101}
			if got := porcupine.CheckOperations(linearModel(), append(history, last)); got != want {
				t.Errorf("%s, answer %q: %v, want %v", name, answer, got, want)
			}
		}
	}
}
