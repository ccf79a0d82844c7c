package asl

import (
	"fmt"
	"slices"
	"strings"

	"ratchet/embedded/internal/stepfunctions/jsonata"
	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// errorNames reads ErrorEquals. States.ALL must be alone, in the last entry.
func (p *parser) errorNames(o *object, last bool) []string {
	v, ok := o.field("ErrorEquals")
	if !ok || rawjson.KindOf(v) != rawjson.Array || rawjson.Len(v) == 0 {
		p.fault(codeSchema, o.at+"/ErrorEquals", "the field 'ErrorEquals' must be an array with at least one error name")
		return nil
	}

	var names []string
	for c := rawjson.Walk(v); c.Next(); {
		name, ok := rawjson.Text(c.Value)
		if !ok {
			p.fault(codeSchema, o.at+"/ErrorEquals", "an error name must be a STRING")
		}

		names = append(names, name)
	}

	if slices.Contains(names, "States.ALL") && (len(names) > 1 || !last) {
		p.fault(codeSchema, o.at+"/ErrorEquals", "States.ALL must appear alone and in the last entry")
	}

	return names
}

func (b *builder) compileRetry(s *State, o *object) {
	v, ok := o.field("Retry")
	if !ok {
		return
	}

	n := rawjson.Len(v)
	if rawjson.KindOf(v) != rawjson.Array {
		b.fault(codeSchema, o.at+"/Retry", "the value for the field 'Retry' must be an ARRAY")
		return
	}

	for c, i := rawjson.Walk(v), 0; c.Next(); i++ {
		r := b.object(c.Value, fmt.Sprintf("%s/Retry[%d]", o.at, i))
		r.allowFields("a retrier", "ErrorEquals", "IntervalSeconds", "MaxAttempts", "BackoffRate",
			"MaxDelaySeconds", "JitterStrategy", "Comment")

		retrier := Retrier{
			ErrorEquals:     b.errorNames(r, i == n-1),
			IntervalSeconds: r.integer("IntervalSeconds", 1, 1, maxSeconds),
			MaxAttempts:     r.integer("MaxAttempts", 3, 0, maxSeconds),
			BackoffRate:     r.float("BackoffRate", 2, 1),
			MaxDelaySeconds: r.integer("MaxDelaySeconds", 0, 1, 31_622_399),
		}
		if retrier.MaxDelaySeconds > 0 && retrier.MaxDelaySeconds <= retrier.IntervalSeconds {
			b.fault(codeSchema, r.at+"/MaxDelaySeconds", "MaxDelaySeconds must be greater than IntervalSeconds")
		}

		switch jitter := r.text("JitterStrategy"); jitter {
		case "FULL":
			retrier.FullJitter = true
		case "", "NONE":
		default:
			b.fault(codeSchema, r.at+"/JitterStrategy", "the value for the field 'JitterStrategy' must be one of FULL, NONE")
		}

		s.Retry = append(s.Retry, retrier)
	}
}

func (b *builder) compileCatch(s *State, o *object) {
	v, ok := o.field("Catch")
	if !ok {
		return
	}

	n := rawjson.Len(v)
	if rawjson.KindOf(v) != rawjson.Array {
		b.fault(codeSchema, o.at+"/Catch", "the value for the field 'Catch' must be an ARRAY")
		return
	}

	for c, i := rawjson.Walk(v), 0; c.Next(); i++ {
		prefix := fmt.Sprintf("Catch[%d]/", i)
		r := b.object(c.Value, o.at+"/"+strings.TrimSuffix(prefix, "/"))
		catcher := Catcher{
			ErrorEquals: b.errorNames(r, i == n-1),
			Assign:      b.assign(r, prefix, jsonata.ErrorOutput),
			Next:        b.target(s, r, "Next"),
		}

		// The language decides how a catcher shapes its output.
		if s.JSONata {
			r.allowFields("a catcher", "ErrorEquals", "Next", "Output", "Assign", "Comment")
			catcher.Output = b.payload(r, "Output", prefix, jsonata.ErrorOutput)
		} else {
			r.allowFields("a catcher", "ErrorEquals", "Next", "ResultPath", "Assign", "Comment")
			catcher.ResultPath = r.resultField("ResultPath")
		}

		s.Catch = append(s.Catch, catcher)
	}
}
