package asl

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// fields of the kinds of states, beside Type and Comment.
var fields = [...][]string{
	Task: {"Next", "End", "InputPath", "OutputPath", "Parameters", "ResultSelector", "ResultPath", "Resource", "Retry", "Catch",
		"TimeoutSeconds", "TimeoutSecondsPath", "HeartbeatSeconds", "HeartbeatSecondsPath"},
	Pass:    {"Next", "End", "InputPath", "OutputPath", "Parameters", "ResultPath", "Result"},
	Choice:  {"InputPath", "OutputPath", "Choices", "Default"},
	Wait:    {"Next", "End", "InputPath", "OutputPath", "Seconds", "SecondsPath", "Timestamp", "TimestampPath"},
	Succeed: {"InputPath", "OutputPath"},
	Fail:    {"Error", "ErrorPath", "Cause", "CausePath"},
	Parallel: {"Next", "End", "InputPath", "OutputPath", "Parameters", "ResultSelector", "ResultPath", "Retry", "Catch",
		"Branches"},
	Map: {"Next", "End", "InputPath", "OutputPath", "Parameters", "ResultSelector", "ResultPath", "Retry", "Catch",
		"ItemProcessor", "Iterator", "ItemsPath", "ItemSelector", "MaxConcurrency", "MaxConcurrencyPath"},
}

func (b *builder) compile(d declared) {
	s, o := d.state, b.object(d.raw, d.at)
	kind := slices.Index(kinds[:], o.text("Type"))
	if kind < 0 {
		b.fault(CodeSchema, d.at+"/Type", "the value for the field 'Type' must be one of %s", strings.Join(kinds[:], ", "))
		return
	}
	s.Kind = Kind(kind)
	b.queryLanguage(o)
	o.allow("a "+s.Kind.String()+" state", append([]string{"Type", "Comment", "QueryLanguage"}, fields[kind]...)...)
	o.text("Comment")
	b.transition(s, o)

	s.InputPath, s.OutputPath = o.pathField("InputPath"), o.pathField("OutputPath")
	s.ResultPath = o.resultField("ResultPath")
	s.ResultSelector = b.template(o, "ResultSelector")
	if s.Kind != Map {
		s.Parameters = b.template(o, "Parameters")
	}

	switch s.Kind {
	case Task:
		b.task(s, o)
	case Pass:
		if v, ok := o.take("Result"); ok {
			s.Result = rawjson.AppendCompact(nil, v)
			b.static(s.Result, o.at+"/Result")
		}
	case Choice:
		b.choice(s, o)
	case Wait:
		b.wait(s, o)
	case Fail:
		s.Error, s.Cause = o.textField("Error"), o.textField("Cause")
	case Parallel:
		b.branches(s, o)
	case Map:
		b.mapState(s, o)
	case Succeed:
	}
	b.retry(s, o)
	b.catch(s, o)
}

// transition reads Next and End where the kind has them: exactly one.
func (b *builder) transition(s *State, o *object) {
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

// static warns of what looks like a path in a literal result.
func (b *builder) static(v []byte, at string) {
	for c := rawjson.Walk(v); c.Next(); {
		if name, _ := rawjson.Text(c.Key); strings.HasSuffix(name, ".$") {
			b.warn(CodeStatic, at, "Result is literal: '%s' is not evaluated", name)
		}
	}
}

func (b *builder) task(s *State, o *object) {
	s.Resource = o.text("Resource")
	if s.Resource == "" {
		b.fault(CodeSchema, o.at, "the field 'Resource' is required")
	} else if !activityARN.MatchString(s.Resource) {
		b.fault(CodeResource, o.at+"/Resource", "the embedded engine runs activities only "+
			"(arn:aws:states:REGION:ACCOUNT:activity:NAME), not %q", s.Resource)
	}

	s.Timeout = o.seconds("TimeoutSeconds", 1, maxSeconds)
	s.Heartbeat = o.seconds("HeartbeatSeconds", 1, maxSeconds)
	if s.Timeout.Value > 0 && s.Heartbeat.Value >= s.Timeout.Value {
		b.fault(CodeSchema, o.at+"/HeartbeatSeconds", "HeartbeatSeconds must be smaller than TimeoutSeconds")
	}
}

func (b *builder) wait(s *State, o *object) {
	const which = "exactly one of the fields Seconds, SecondsPath, Timestamp, TimestampPath is required"
	o.exclusive("Seconds", "SecondsPath", "Timestamp", "TimestampPath")

	switch {
	case o.has("Seconds") || o.has("SecondsPath"):
		s.Seconds = o.seconds("Seconds", 0, maxSeconds)
	case o.has("Timestamp"):
		s.Timestamp.Value = o.text("Timestamp")
		if _, err := time.Parse(time.RFC3339, s.Timestamp.Value); err != nil {
			b.fault(CodeSchema, o.at+"/Timestamp", "the value for the field 'Timestamp' must be an RFC 3339 timestamp")
		}
	case o.has("TimestampPath"):
		s.Timestamp.Path = o.path("TimestampPath")
	default:
		b.fault(CodeSchema, o.at, which)
	}
}

func (b *builder) branches(s *State, o *object) {
	v, _ := o.take("Branches")
	if rawjson.KindOf(v) != rawjson.Array || rawjson.Len(v) == 0 {
		b.fault(CodeSchema, o.at+"/Branches", "the field 'Branches' must be an array with at least one branch")
		return
	}

	for c, i := rawjson.Walk(v), 0; c.Next(); i++ {
		branch := b.object(c.Value, fmt.Sprintf("%s/Branches[%d]", o.at, i))
		branch.allow("a branch", "StartAt", "States", "Comment")
		s.Branches = append(s.Branches, b.flow(branch, b.depth+1))
	}
}

func (b *builder) mapState(s *State, o *object) {
	o.exclusive("ItemProcessor", "Iterator")
	o.exclusive("ItemSelector", "Parameters")

	s.ItemsPath = o.pathField("ItemsPath")
	if s.ItemsPath.Null {
		b.fault(CodeSchema, o.at+"/ItemsPath", "the value for the field 'ItemsPath' must be a valid JSONPath")
	}

	if s.ItemSelector = b.template(o, "ItemSelector"); s.ItemSelector == nil {
		s.ItemSelector = b.template(o, "Parameters")
	}

	s.MaxConcurrency = o.seconds("MaxConcurrency", 0, maxSeconds)
	field := "ItemProcessor"
	if o.has("Iterator") {
		field = "Iterator"
	}

	v, ok := o.take(field)
	if !ok {
		b.fault(CodeSchema, o.at, "the field 'ItemProcessor' is required")
		return
	}
	inner := b.object(v, o.at+"/"+field)
	inner.allow("an item processor", "StartAt", "States", "Comment", "ProcessorConfig")

	if v, ok := inner.take("ProcessorConfig"); ok {
		config := b.object(v, inner.at+"/ProcessorConfig")
		config.allow("ProcessorConfig", "Mode", "ExecutionType")

		if mode := config.text("Mode"); mode != "" && mode != "INLINE" {
			b.fault(CodeSchema, config.at+"/Mode", "the embedded engine supports INLINE maps only, not %s", mode)
		}

		if config.has("ExecutionType") {
			b.fault(CodeSchema, config.at+"/ExecutionType", "ExecutionType belongs to distributed maps, which the embedded engine does not support")
		}
	}
	s.Branches = []*Flow{b.flow(inner, b.depth+1)}
}

func (b *builder) retry(s *State, o *object) {
	v, ok := o.take("Retry")
	if !ok {
		return
	}

	n := rawjson.Len(v)
	if rawjson.KindOf(v) != rawjson.Array {
		b.fault(CodeSchema, o.at+"/Retry", "the value for the field 'Retry' must be an ARRAY")
		return
	}

	for c, i := rawjson.Walk(v), 0; c.Next(); i++ {
		r := b.object(c.Value, fmt.Sprintf("%s/Retry[%d]", o.at, i))
		r.allow("a retrier", "ErrorEquals", "IntervalSeconds", "MaxAttempts", "BackoffRate", "MaxDelaySeconds", "JitterStrategy", "Comment")

		retrier := Retrier{
			ErrorEquals:     b.errorNames(r, i == n-1),
			IntervalSeconds: r.integer("IntervalSeconds", 1, 1, maxSeconds),
			MaxAttempts:     r.integer("MaxAttempts", 3, 0, maxSeconds),
			BackoffRate:     r.float("BackoffRate", 2, 1),
			MaxDelaySeconds: r.integer("MaxDelaySeconds", 0, 1, 31_622_400),
		}
		if retrier.MaxDelaySeconds > 0 && retrier.MaxDelaySeconds <= retrier.IntervalSeconds {
			b.fault(CodeSchema, r.at+"/MaxDelaySeconds", "MaxDelaySeconds must be greater than IntervalSeconds")
		}

		switch jitter := r.text("JitterStrategy"); jitter {
		case "FULL":
			retrier.FullJitter = true
		case "", "NONE":
		default:
			b.fault(CodeSchema, r.at+"/JitterStrategy", "the value for the field 'JitterStrategy' must be one of FULL, NONE")
		}
		s.Retry = append(s.Retry, retrier)
	}
}

func (b *builder) catch(s *State, o *object) {
	v, ok := o.take("Catch")
	if !ok {
		return
	}

	n := rawjson.Len(v)
	if rawjson.KindOf(v) != rawjson.Array {
		b.fault(CodeSchema, o.at+"/Catch", "the value for the field 'Catch' must be an ARRAY")
		return
	}

	for c, i := rawjson.Walk(v), 0; c.Next(); i++ {
		r := b.object(c.Value, fmt.Sprintf("%s/Catch[%d]", o.at, i))
		r.allow("a catcher", "ErrorEquals", "Next", "ResultPath", "Comment")
		s.Catch = append(s.Catch, Catcher{
			ErrorEquals: b.errorNames(r, i == n-1),
			ResultPath:  r.resultField("ResultPath"),
			Next:        b.target(s, r, "Next"),
		})
	}
}
