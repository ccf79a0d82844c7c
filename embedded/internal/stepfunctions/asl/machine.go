package asl

import (
	"ratchet/embedded/internal/stepfunctions/jsonpath"
)

// Machine is a compiled definition. It is immutable.
type Machine struct {
	Comment string
	// TimeoutSeconds bounds an execution; 0 means no bound.
	TimeoutSeconds int64
	Flow           *Flow
	// States holds the states of all flows; a state's Ordinal is its index.
	States []*State
}

// Flow is a set of states with a start: a machine, a branch or an item processor.
type Flow struct{ Start *State }

// Kind is the type of a state.
type Kind byte

// The kinds of states.
const (
	Task Kind = iota
	Pass
	Choice
	Wait
	Succeed
	Fail
	Parallel
	Map
)

var kinds = [...]string{"Task", "Pass", "Choice", "Wait", "Succeed", "Fail", "Parallel", "Map"}

// String returns the kind as the language writes it.
func (k Kind) String() string { return kinds[k] }

// State is a compiled state. Fields that its kind does not have are zero.
type State struct {
	Ordinal int
	Name    string
	Kind    Kind
	// Next is nil when the state ends its flow.
	Next *State

	InputPath, OutputPath      PathField
	Parameters, ResultSelector *jsonpath.Template // nil when absent
	ResultPath                 ResultField

	// Result is Pass's literal result; nil when absent.
	Result []byte
	// Resource is Task's activity ARN.
	Resource           string
	Timeout, Heartbeat Seconds
	Retry              []Retrier
	Catch              []Catcher
	Choices            []Rule
	Default            *State
	// Seconds or Timestamp is how long Wait waits.
	Seconds   Seconds
	Timestamp Timestamp
	// Branches are Parallel's; Map's item processor is its only one.
	Branches []*Flow
	// ItemsPath selects Map's array from its effective input.
	ItemsPath      PathField
	ItemSelector   *jsonpath.Template
	MaxConcurrency Seconds
	Error, Cause   TextField
}

// PathField is InputPath, OutputPath or ItemsPath.
type PathField struct {
	// Path is nil for the default, "$".
	Path *jsonpath.Path
	// Null says that the field is null: the state sees an empty object.
	Null bool
}

// ResultField is ResultPath.
type ResultField struct {
	// Path is nil for the default, "$".
	Path *jsonpath.Reference
	// Null says that the result is thrown away.
	Null bool
}

// Seconds is a number given in the definition or found in the data.
type Seconds struct {
	Value int64
	Path  *jsonpath.Path
	Set   bool
}

// Timestamp is an instant given in the definition or found in the data, RFC 3339.
type Timestamp struct {
	Value string
	Path  *jsonpath.Path
}

// TextField is a text given in the definition or computed from the data.
type TextField struct {
	Value      string
	Expression *jsonpath.Expression
	Set        bool
}

// Retrier is one member of Retry.
type Retrier struct {
	ErrorEquals     []string
	IntervalSeconds int64
	MaxAttempts     int64
	BackoffRate     float64
	// MaxDelaySeconds is 0 for no bound.
	MaxDelaySeconds int64
	FullJitter      bool
}

// Catcher is one member of Catch.
type Catcher struct {
	ErrorEquals []string
	ResultPath  ResultField
	Next        *State
}

// Rule is one of Choice's rules.
type Rule struct {
	Condition Condition
	Next      *State
}
