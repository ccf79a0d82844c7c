package asl

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

// distributedFields are the fields of a Map that only the mode DISTRIBUTED has.
var distributedFields = []string{"ItemBatcher", "Label"}

// compileDistributed compiles a Map whose iterations are executions of their own. inner is the
// item processor.
func (b *builder) compileDistributed(s *State, o, inner *object, config processorConfig) {
	if b.express {
		b.fault(codeSchema, inner.at+"/ProcessorConfig/Mode", "Express state machines do not support the mode %s", modeDistributed)
	}

	s.Distributed = &Distributed{
		Label:               b.label(o),
		Express:             config.express,
		ToleratedCount:      o.seconds("ToleratedFailureCount", 0, maxTolerated),
		ToleratedPercentage: o.percentage("ToleratedFailurePercentage"),
		Batcher:             b.batcher(o),
		Definition:          rawjson.AppendCompact(nil, inner.raw),
	}

	first, outer := len(b.parser.states), b.express
	// Children of the type EXPRESS obey the rules of Express machines.
	b.express = b.express || config.express
	flow := b.compileFlow(inner, b.depth+1)
	b.express = outer

	s.Branches = []*Flow{flow}
	s.Distributed.Child = &Machine{Flow: flow}
	b.distributed = append(b.distributed, s.Distributed)

	if flow == nil {
		return
	}

	// The child executions begin without variables. compileFlow has just added
	// the variables of this flow as the last entry.
	own := b.inner[len(b.inner)-1]
	for _, state := range b.parser.states[first:] {
		for _, name := range state.Reads {
			if _, ok := own[name]; !ok {
				b.fault(codeSchema, inner.at, "the state '%s' reads the variable '%s', which is not assigned inside of the "+
					"distributed Map: its executions cannot read variables of outer scopes", state.Name, name)
			}
		}
	}
}

// Limits of distributed Maps.
// Sources: https://docs.aws.amazon.com/step-functions/latest/dg/state-map-distributed.html,
// https://docs.aws.amazon.com/step-functions/latest/dg/input-output-itembatcher.html
const (
	maxLabel      = 40 // characters
	maxTolerated  = 1<<31 - 1
	maxBatchItems = 1<<31 - 1
	maxBatchBytes = 256 << 10
)

// label reads the Label of a Map, which must be unique in the machine.
func (b *builder) label(o *object) string {
	if !o.has("Label") {
		return ""
	}

	label, at := o.text("Label"), o.at+"/Label"
	bad := strings.IndexFunc(label, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("?*<>{}[]:;,\\|^~$#%&`\"", r)
	})

	switch {
	case label == "":
		b.fault(codeSchema, at, "Label cannot be empty")
	case utf8.RuneCountInString(label) > maxLabel:
		b.fault(codeSchema, at, "Label cannot exceed %d characters", maxLabel)
	case bad >= 0:
		r, _ := utf8.DecodeRuneInString(label[bad:])
		b.fault(codeSchema, at, "Label contains invalid character: %s", strconv.QuoteRune(r))
	case b.labels[label]:
		b.fault(codeSchema, at, "Label '%s' is used more than once", label)
	}

	if b.labels == nil {
		b.labels = map[string]bool{}
	}

	b.labels[label] = true

	return label
}

// batcher reads ItemBatcher; nil when absent.
func (b *builder) batcher(o *object) *Batcher {
	v, ok := o.field("ItemBatcher")
	if !ok {
		return nil
	}

	limits := []string{"MaxItemsPerBatch", "MaxInputBytesPerBatch"}
	if !b.jsonata {
		limits = []string{"MaxItemsPerBatch", "MaxItemsPerBatchPath", "MaxInputBytesPerBatch", "MaxInputBytesPerBatchPath"}
	}

	inner := b.object(v, o.at+"/ItemBatcher")
	inner.allowFields("ItemBatcher", append(limits, "BatchInput")...)

	if !slices.ContainsFunc(limits, inner.has) {
		b.fault(codeSchema, inner.at, "one of the fields %s is required", strings.Join(limits, ", "))
	}

	return &Batcher{
		Items: inner.seconds("MaxItemsPerBatch", 1, maxBatchItems),
		Bytes: inner.seconds("MaxInputBytesPerBatch", 1, maxBatchBytes),
		Input: b.payload(inner, "BatchInput", "ItemBatcher/", 0),
	}
}

// percentage reads a number from 0 to 100 from field. In JSONata field may be an expression; in JSONPath
// field + "Path" may stand in its place.
func (o *object) percentage(field string) (p Percentage) {
	if p.Query = o.query(field); p.Query != nil {
		return p
	}

	if !o.p.jsonata {
		o.exclusive(field, field+"Path")

		if p.Path = o.path(field + "Path"); p.Path != nil {
			return p
		}
	}

	if p.Value = o.float(field, 0, 0); p.Value > 100 {
		o.p.fault(codeSchema, o.at+"/"+field, "the value for the field '%s' must be a NUMBER from 0 to 100", field)
	}

	return p
}
