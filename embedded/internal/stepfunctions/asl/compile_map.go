package asl

import "ratchet/embedded/internal/stepfunctions/rawjson"

func (b *builder) compileMap(s *State, o *object) {
	o.exclusive("ItemProcessor", "Iterator")
	s.ItemSelector = b.payload(o, "ItemSelector", "", 0)

	if s.JSONata {
		s.Items = b.payload(o, "Items", "", 0)
	} else {
		b.compileItemsPath(s, o)
	}

	s.MaxConcurrency = o.seconds("MaxConcurrency", 0, maxSeconds)
	field := "ItemProcessor"
	if o.has("Iterator") {
		field = "Iterator"
	}

	v, ok := o.field(field)
	if !ok {
		b.fault(codeSchema, o.at, "the field 'ItemProcessor' is required")
		return
	}

	inner := b.object(v, o.at+"/"+field)
	inner.allowFields("an item processor", "StartAt", "States", "Comment", "ProcessorConfig")

	// States inside learn from this count that a Map is around them.
	b.maps++
	defer func() { b.maps-- }()

	config := b.processorConfig(inner)
	b.checkItems(s, o, config.distributed)

	if config.distributed {
		b.compileDistributed(s, o, inner, config)
		return
	}

	// An inline Map may have a tolerance, as LocalStack's recordings of
	// AWS show. The values are checked and dropped.
	o.seconds("ToleratedFailureCount", 0, maxTolerated)
	o.percentage("ToleratedFailurePercentage")

	for _, field := range distributedFields {
		if o.has(field) {
			b.fault(codeSchema, o.at+"/"+field, "the field '%s' needs an item processor in the mode DISTRIBUTED", field)
		}
	}

	s.Branches = []*Flow{b.compileFlow(inner, b.depth+1)}
}

// compileItemsPath reads ItemsPath, and Parameters as the old name of ItemSelector.
func (b *builder) compileItemsPath(s *State, o *object) {
	o.exclusive("ItemSelector", "Parameters")

	s.ItemsPath = o.pathField("ItemsPath")
	// Unlike InputPath and OutputPath, ItemsPath cannot be null.
	if s.ItemsPath.Null {
		b.fault(codeSchema, o.at+"/ItemsPath", "the value for the field 'ItemsPath' must be a valid JSONPath: it is null")
	}

	if s.ItemSelector == nil {
		s.ItemSelector = b.payload(o, "Parameters", "", 0)
	}
}

// checkItems reports Items that are no expression and no array. A distributed Map may have an object, too.
func (b *builder) checkItems(s *State, o *object, distributed bool) {
	if s.Items == nil || s.Items.Query.Single() {
		return
	}

	v, _ := o.field("Items")
	kind := rawjson.KindOf(v)
	if kind != rawjson.Array && (!distributed || kind != rawjson.Object) {
		b.fault(codeSchema, o.at+"/Items", "the value for the field 'Items' must be an ARRAY or a JSONata expression")
	}
}

// processorConfig is the ProcessorConfig of an item processor.
type processorConfig struct{ distributed, express bool }

// The modes of a Map, and the types of the executions that a distributed one starts.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/state-map-distributed.html
const (
	modeInline      = "INLINE"
	modeDistributed = "DISTRIBUTED"
	typeStandard    = "STANDARD"
	typeExpress     = "EXPRESS"
)

func (b *builder) processorConfig(inner *object) (c processorConfig) {
	v, ok := inner.field("ProcessorConfig")
	if !ok {
		return c
	}

	config := b.object(v, inner.at+"/ProcessorConfig")
	config.allowFields("ProcessorConfig", "Mode", "ExecutionType")

	switch mode := config.text("Mode"); mode {
	case "", modeInline:
		if config.has("ExecutionType") {
			b.fault(codeSchema, config.at+"/ExecutionType", "ExecutionType needs the mode %s", modeDistributed)
		}

		return c
	case modeDistributed:
		c.distributed = true
	default:
		b.fault(codeSchema, config.at+"/Mode", "the value for the field 'Mode' must be one of %s, %s", modeInline, modeDistributed)
		return c
	}

	switch kind := config.text("ExecutionType"); {
	case !config.has("ExecutionType"):
		b.fault(codeSchema, config.at, "the field 'ExecutionType' is required in the mode %s", modeDistributed)
	case kind == typeExpress:
		c.express = true
	case kind != typeStandard:
		b.fault(codeSchema, config.at+"/ExecutionType",
			"the value for the field 'ExecutionType' must be one of %s, %s", typeStandard, typeExpress)
	}

	return c
}
