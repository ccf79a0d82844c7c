package asl

import (
	"maps"
	"slices"
	"strings"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// fields are the fields of each kind of state, beside Type, Comment and QueryLanguage.
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

// compile compiles one state: the fields that kinds share, then those of its kind.
func (b *builder) compile(d declared) {
	outer := b.reads
	b.reads = map[string]bool{}
	defer func() { d.state.Reads, b.reads = slices.Sorted(maps.Keys(b.reads)), outer }()

	s, o := d.state, b.object(d.raw, d.at)
	kind := slices.Index(kinds[:], o.text("Type"))
	if kind < 0 {
		b.fault(CodeSchema, d.at+"/Type", "the value for the field 'Type' must be one of %s", strings.Join(kinds[:], ", "))
		return
	}

	s.Kind = Kind(kind)
	b.queryLanguage(o)
	o.allowFields("a "+s.Kind.String()+" state", append([]string{"Type", "Comment", "QueryLanguage"}, fields[kind]...)...)
	o.text("Comment")
	b.compileTransition(s, o)

	s.Assign = b.assign(o)

	s.InputPath, s.OutputPath = o.pathField("InputPath"), o.pathField("OutputPath")
	s.ResultPath = o.resultField("ResultPath")
	s.ResultSelector = b.template(o, "ResultSelector")
	if s.Kind != Map { // in a Map, Parameters is the old name of ItemSelector
		s.Parameters = b.template(o, "Parameters")
	}

	switch s.Kind {
	case Task:
		b.compileTask(s, o)
	case Pass:
		if v, ok := o.field("Result"); ok {
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

// compileTransition reads Next and End. A kind that has them needs exactly one.
func (b *builder) compileTransition(s *State, o *object) {
	if !slices.Contains(fields[s.Kind], "Next") {
		return
	}

	switch end := o.boolean("End"); {
	case o.has("Next") && end:
		b.fault(CodeSchema, o.at, "only one of the fields End, Next is allowed")
	case o.has("Next"):
		s.Next = b.target(s, o, "Next")
	case !end:
		b.fault(CodeSchema, o.at, "one of the fields End, Next is required")
	}
}

// warnOfPaths warns of members in a literal result that look like paths.
func (b *builder) warnOfPaths(v []byte, at string) {
	for c := rawjson.Walk(v); c.Next(); {
		if name, _ := rawjson.Text(c.Key); strings.HasSuffix(name, ".$") {
			b.warn(CodeStatic, at, "Result is literal: '%s' is not evaluated", name)
		}
	}
}
