package asl

import (
	"maps"
	"slices"
	"strings"

	"ratchet/embedded/internal/stepfunctions/jsonata"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// fields are the fields of each kind of state in JSONPath, beside Type, Comment and QueryLanguage. The
// fields in JSONata are in queryFields.
// Source: https://states-language.net/spec.html#state-type-table
var fields = [...][]string{
	Task: {
		"Next", "End", "Assign", "InputPath", "OutputPath", "Parameters", "ResultSelector", "ResultPath", "Retry", "Catch",
		"Resource", "TimeoutSeconds", "TimeoutSecondsPath", "HeartbeatSeconds", "HeartbeatSecondsPath",
	},
	Pass: {
		"Next", "End", "Assign", "InputPath", "OutputPath", "Parameters", "ResultPath",
		"Result",
	},
	Choice: {
		"Assign", "InputPath", "OutputPath",
		"Choices", "Default",
	},
	Wait: {
		"Next", "End", "Assign", "InputPath", "OutputPath",
		"Seconds", "SecondsPath", "Timestamp", "TimestampPath",
	},
	Succeed: {
		"InputPath", "OutputPath",
	},
	Fail: {
		"Error", "ErrorPath", "Cause", "CausePath",
	},
	Parallel: {
		"Next", "End", "Assign", "InputPath", "OutputPath", "Parameters", "ResultSelector", "ResultPath", "Retry", "Catch",
		"Branches",
	},
	Map: {
		"Next", "End", "Assign", "InputPath", "OutputPath", "Parameters", "ResultSelector", "ResultPath", "Retry", "Catch",
		"ItemProcessor", "Iterator", "ItemsPath", "ItemSelector", "MaxConcurrency", "MaxConcurrencyPath",
		"ItemBatcher", "Label", "ToleratedFailureCount", "ToleratedFailureCountPath",
		"ToleratedFailurePercentage", "ToleratedFailurePercentagePath",
	},
}

// queryFields are the fields of each kind of state in JSONata.
var queryFields = [...][]string{
	Task: {
		"Next", "End", "Assign", "Arguments", "Output", "Retry", "Catch",
		"Resource", "TimeoutSeconds", "HeartbeatSeconds",
	},
	Pass:    {"Next", "End", "Assign", "Output"},
	Choice:  {"Assign", "Output", "Choices", "Default"},
	Wait:    {"Next", "End", "Assign", "Output", "Seconds", "Timestamp"},
	Succeed: {"Output"},
	Fail:    {"Error", "Cause"},
	Parallel: {
		"Next", "End", "Assign", "Arguments", "Output", "Retry", "Catch",
		"Branches",
	},
	Map: {
		"Next", "End", "Assign", "Output", "Retry", "Catch",
		"ItemProcessor", "Iterator", "Items", "ItemSelector", "MaxConcurrency",
		"ItemBatcher", "Label", "ToleratedFailureCount", "ToleratedFailurePercentage",
	},
}

// fieldsOf returns the fields of a kind of state in the query language of the state under
// compilation.
func (b *builder) fieldsOf(k Kind) []string {
	if b.jsonata {
		return queryFields[k]
	}

	return fields[k]
}

// compile compiles one state: the fields that several kinds share, and then the fields of its own kind.
func (b *builder) compile(d declared) {
	// A Map or Parallel compiles its inner states on the way, so both are kept and put back.
	outer, language := b.reads, b.jsonata
	b.reads = map[string]bool{}
	defer func() {
		d.state.Reads, b.reads, b.jsonata = slices.Sorted(maps.Keys(b.reads)), outer, language
	}()

	s, o := d.state, b.object(d.raw, d.at)
	kind := slices.Index(kinds[:], o.text("Type"))
	if kind < 0 {
		b.fault(codeSchema, d.at+"/Type", "The field 'Type' should have one of these values: "+
			"[Task, Wait, Pass, Succeed, Fail, Choice, Parallel, Map]")
		return
	}

	s.Kind = Kind(kind)
	// The language comes first, because it decides which of the other fields are allowed.
	b.jsonata = b.queryLanguage(o, b.machineJSONata)
	s.JSONata = b.jsonata
	o.allowFields("a "+s.Kind.String()+" state", append([]string{"Type", "Comment", "QueryLanguage"}, b.fieldsOf(s.Kind)...)...)
	o.text("Comment")
	b.compileTransition(s, o)
	b.compileDataFlow(s, o)

	switch s.Kind {
	case Task:
		b.compileTask(s, o)
	case Pass:
		if v, ok := o.field("Result"); ok && !s.JSONata {
			s.Result = rawjson.AppendCompact(nil, v)
			b.warnOfPaths(s.Result, o.at+"/Result")
		}
	case Choice:
		b.compileChoice(s, o)
	case Wait:
		b.compileWait(s, o)
	case Fail:
		s.Error, s.Cause = o.textField("Error"), o.textField("Cause")
	case Parallel:
		b.compileParallel(s, o)
	case Map:
		b.compileMap(s, o)
	case Succeed:
	}

	b.compileRetry(s, o)
	b.compileCatch(s, o)
}

// compileDataFlow reads the fields that select a state's data and shape its result.
func (b *builder) compileDataFlow(s *State, o *object) {
	var access jsonata.Access
	// Only these kinds have a result that expressions can read.
	if s.Kind == Task || s.Kind == Parallel || s.Kind == Map {
		access = jsonata.Result
	}

	s.Assign = b.assign(o, "", access)

	if s.JSONata {
		s.Parameters, s.Output = b.payload(o, "Arguments", "", 0), b.payload(o, "Output", "", access)
		return
	}

	s.InputPath, s.OutputPath = o.pathField("InputPath"), o.pathField("OutputPath")
	s.ResultPath = o.resultField("ResultPath")
	s.ResultSelector = b.template(o, "ResultSelector")
	// In a Map, Parameters is the old name of ItemSelector.
	if s.Kind != Map {
		s.Parameters = b.payload(o, "Parameters", "", 0)
	}
}

// compileTransition reads Next and End. A kind that has them needs exactly one.
func (b *builder) compileTransition(s *State, o *object) {
	// The tables of both languages agree about Next.
	if !slices.Contains(fields[s.Kind], "Next") {
		return
	}

	switch end := o.boolean("End"); {
	case o.has("Next") && end:
		b.fault(codeSchema, o.at, "only one of the fields End, Next is allowed")
	case o.has("Next"):
		s.Next = b.target(s, o, "Next")
	case !end:
		b.fault(codeSchema, o.at, "one of the fields End, Next is required")
	}
}

// warnOfPaths warns of members in a literal result that look like paths.
func (b *builder) warnOfPaths(v []byte, at string) {
	for c := rawjson.Walk(v); c.Next(); {
		if name, _ := rawjson.Text(c.Key); strings.HasSuffix(name, ".$") {
			b.warn(codeStatic, at, "Result is literal: '%s' is not evaluated", name)
		}
	}
}
