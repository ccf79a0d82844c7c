package asl

func (b *builder) compileMap(s *State, o *object) {
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

	v, ok := o.field(field)
	if !ok {
		b.fault(CodeSchema, o.at, "the field 'ItemProcessor' is required")
		return
	}

	inner := b.object(v, o.at+"/"+field)
	inner.allowFields("an item processor", "StartAt", "States", "Comment", "ProcessorConfig")

	if config := b.processorConfig(inner); config.distributed {
		b.compileDistributed(s, o, inner, config)
		return
	}

	for _, field := range distributedFields {
		if o.has(field) {
			b.fault(CodeSchema, o.at+"/"+field, "the field '%s' needs an item processor in the mode DISTRIBUTED", field)
		}
	}

	s.Branches = []*Flow{b.compileFlow(inner, b.depth+1)}
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
			b.fault(CodeSchema, config.at+"/ExecutionType", "ExecutionType needs the mode %s", modeDistributed)
		}

		return c
	case modeDistributed:
		c.distributed = true
	default:
		b.fault(CodeSchema, config.at+"/Mode", "the value for the field 'Mode' must be one of %s, %s", modeInline, modeDistributed)
		return c
	}

	switch kind := config.text("ExecutionType"); {
	case !config.has("ExecutionType"):
		b.fault(CodeSchema, config.at, "the field 'ExecutionType' is required in the mode %s", modeDistributed)
	case kind == typeExpress:
		c.express = true
	case kind != typeStandard:
		b.fault(CodeSchema, config.at+"/ExecutionType",
			"the value for the field 'ExecutionType' must be one of %s, %s", typeStandard, typeExpress)
	}

	return c
}
