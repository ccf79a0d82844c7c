package asl

import (
	"ratchet/embedded/internal/stepfunctions/jsonata"
	"ratchet/embedded/internal/stepfunctions/jsonpath"
)

// Machine is a compiled definition. It is immutable.
type Machine struct {
	Comment string
	// TimeoutSeconds bounds the time of an execution; 0 means no bound.
	TimeoutSeconds int64
	Flow           *Flow
	// States has the states of all flows. A state's Ordinal is its index.
	States []*State
	// Distributed reports whether a state is a distributed Map.
	Distributed bool
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
	// Next is nil if the state ends its flow.
	Next *State
	// JSONata is the state's query language, JSONPath otherwise. Only the fields of its language are set.
	JSONata bool

	// Assign gives variables their values when the state ends; nil if absent. Reads are the
	// names of the variables that the state's fields read, sorted.
	Assign *Payload
	Reads  []string

	InputPath, OutputPath PathField
	// Parameters is the field Arguments in JSONata.
	Parameters     *Payload           // nil if absent
	ResultSelector *jsonpath.Template // nil if absent
	ResultPath     ResultField
	Retry          []Retrier
	Catch          []Catcher
	// Output is nil if absent, as always in JSONPath.
	Output *Payload

	// Pass. Result is its literal result, nil if absent.
	Result []byte

	// Task. Resource is the ARN of an activity, unless Integration is set: for a call of another
	// service, and for a Lambda function.
	Resource    string
	Integration *Integration
	// Foreign reports a Resource that the engine does not run. Only tests of states let it through.
	Foreign bool
	// Iterated reports that a Map is around the state.
	Iterated           bool
	Timeout, Heartbeat Seconds

	// Choice. Default is nil if absent.
	Choices []Rule
	Default *State

	// Wait. Either Seconds or Timestamp is set.
	Seconds   Seconds
	Timestamp Timestamp

	// Parallel and Map. The item processor of a Map is its only branch.
	Branches []*Flow

	// Map. ItemsPath selects the array from the state's input after InputPath.
	ItemsPath      PathField
	Items          *Payload // of JSONata, nil if absent
	ItemSelector   *Payload // nil if absent
	MaxConcurrency Seconds
	// Distributed is nil for an inline Map.
	Distributed *Distributed

	// Fail.
	Error, Cause TextField
}

// Distributed holds the fields of a distributed Map, whose iterations are executions of their own.
type Distributed struct {
	// Label is "" if absent.
	Label string
	// Express is the type of the executions.
	Express bool
	// Child is the item processor as the machine of the executions, whose states have the
	// ordinals of the whole definition. Definition is its JSON.
	Child      *Machine
	Definition []byte
	// Batcher is nil if absent.
	Batcher *Batcher
	// The Map fails if more items fail than one of these tolerances allows. 0 means not set.
	ToleratedCount      Seconds
	ToleratedPercentage Percentage
}

// Batcher is ItemBatcher. A limit that is not set is 0.
type Batcher struct {
	Items, Bytes Seconds
	Input        *Payload // nil if absent
}

// Payload is JSON with expressions in it. Either Path or Query is set, by the state's language.
type Payload struct {
	Path  *jsonpath.Template
	Query *jsonata.Template
	// Field is the payload's place in the state, like "Catch[0]/Output".
	Field string
}

// Percentage is a number from the definition or, with a Path or a Query, from the data.
type Percentage struct {
	Value float64
	Path  *jsonpath.Path
	Query *jsonata.Expression
}

// PathField is InputPath, OutputPath or ItemsPath.
type PathField struct {
	// Path is nil for the default, "$".
	Path *jsonpath.Path
	// Null reports that the field is null: the state gets an empty object.
	Null bool
}

// ResultField is ResultPath.
type ResultField struct {
	// Path is nil for the default, "$".
	Path *jsonpath.Reference
	// Null reports that the field is null: the result is dropped.
	Null bool
}

// Seconds is a number from the definition or, with a Path or a Query, from the data.
type Seconds struct {
	Value int64
	Path  *jsonpath.Path
	Query *jsonata.Expression
	Set   bool
}

// Timestamp is an RFC 3339 timestamp from the definition or, with a Path or a Query, from the
// data.
type Timestamp struct {
	Value string
	Path  *jsonpath.Path
	Query *jsonata.Expression
}

// TextField is a text from the definition or, with an Expression or a Query, from the data.
type TextField struct {
	Value      string
	Expression *jsonpath.Expression
	Query      *jsonata.Expression
	Set        bool
}

// Retrier is one member of Retry.
type Retrier struct {
	ErrorEquals     []string
	IntervalSeconds int64
	MaxAttempts     int64
	BackoffRate     float64
	// MaxDelaySeconds bounds the interval; 0 means no bound.
	MaxDelaySeconds int64
	FullJitter      bool
}

// Catcher is one member of Catch.
type Catcher struct {
	ErrorEquals []string
	ResultPath  ResultField
	Assign      *Payload // nil if absent
	Output      *Payload // of JSONata, nil if absent
	Next        *State
}

// Rule is one of Choice's rules. In JSONata it has a Query in the place of its Condition.
type Rule struct {
	Condition Condition
	Query     *Payload
	Assign    *Payload // nil if absent
	Output    *Payload // of JSONata, nil if absent
	Next      *State
}
