package check

import (
	"strings"

	"ratchet/workflow/internal/document"
)

// noTimeout is the TimeoutSeconds of a Task that does not set it, about three years.
// https://docs.aws.amazon.com/step-functions/latest/dg/state-task.html
const noTimeout = 99_999_999

// aslMachine is a state machine in Amazon States Language.
type aslMachine struct {
	top     *aslScope
	timeout int64 // of an execution in seconds, 0 when absent
	jsonata bool
	all     []*aslState // nested ones too, in the order of the file
	unknown []unknownField
}

// unknownField is a field that the language does not have.
type unknownField struct {
	name string
	line int
}

// aslScope is one StartAt with its States: the whole state machine, a
// branch of a Parallel or the processor of a Map.
type aslScope struct {
	line    int
	startAt string
	states  []*aslState
	byName  map[string]*aslState
	parent  *aslState // the Parallel or Map around it, nil at the top

	touchesOrder bool // some Task inside creates, moves, awaits or reads the order

	least *usage          // result of shortest, nil until it is computed
	most  map[bool]*usage // results of longest
}

// outer returns the scope around the scope, nil at the top.
func (sc *aslScope) outer() *aslScope {
	if sc.parent == nil {
		return nil
	}
	return sc.parent.scope
}

// aslState is one state of any type. Fields that its type does not have are zero.
type aslState struct {
	name, kind string
	line       int
	scope      *aslScope
	jsonata    bool

	next string
	end  bool

	resource           string
	parameters         *document.Node // Parameters or Arguments, nil when absent
	timeout, heartbeat aslSeconds
	retry              []aslRetry
	catch              []aslCatch

	// Paths are "$" when absent. A resultPath of "" stands for null, which discards the
	// result.
	input, output, resultPath string

	// Fields that make data, nil when absent. outputs is Output of JSONata.
	result, selector, itemSelector, assign, outputs *document.Node
	itemsPath                                       string // "$" when absent

	rules      []aslRule
	defaults   string
	hasDefault bool

	branches    []*aslScope // of a Parallel; the one processor of a Map
	distributed bool
	// tolerates says that a distributed Map tolerates failed items, toleratesAll that it does so however many fail.
	tolerates, toleratesAll bool

	wait  float64 // seconds of a Wait with a constant, else 0
	waits bool    // a Wait that is not known to last no time

	failure  string // Error of a Fail
	computed bool   // ErrorPath, or an Error of JSONata

	effect  Effect
	unknown []unknownField
	written []writtenPath // the paths of the state, as they stand in the file
}

// path names a state with the states around it, like "Both/Act".
func (s *aslState) path() string {
	if s.scope.parent == nil {
		return s.name
	}
	return s.scope.parent.path() + "/" + s.name
}

// isActivity reports whether a worker polls for the Task or answers it by token. Only a time-out of the
// state then notices a lost token.
func (s *aslState) isActivity() bool {
	return s.kind == "Task" && (s.effect.Activity ||
		strings.Contains(s.resource, ":activity:") ||
		strings.HasSuffix(s.resource, ".waitForTaskToken"))
}

// targets calls fn for every way out of the state inside its scope.
func (s *aslState) targets(fn func(next string, line int, what string)) {
	if s.next != "" {
		fn(s.next, s.line, "Next")
	}

	for _, r := range s.rules {
		fn(r.next, r.line, "Choices")
	}

	if s.hasDefault {
		fn(s.defaults, s.line, "Default")
	}

	for _, k := range s.catch {
		fn(k.next, k.line, "Catch")
	}
}

// aslSeconds is a duration that is absent, constant, or taken from the data.
type aslSeconds struct {
	set, dynamic bool
	seconds      int64
}

// constant reports whether the duration is known.
func (d aslSeconds) constant() bool { return d.set && !d.dynamic }

// aslRetry is one entry of a Retry.
type aslRetry struct {
	line               int
	errors             []string
	interval, attempts int64
	maxDelay           int64 // 0 when absent
	backoff            float64
}

// aslCatch is one entry of a Catch.
type aslCatch struct {
	line       int
	errors     []string
	next       string
	resultPath string

	assign, outputs *document.Node
}

// aslRule is one entry of the Choices of a Choice.
type aslRule struct {
	line int
	cond *condition
	next string

	assign, outputs *document.Node
}
