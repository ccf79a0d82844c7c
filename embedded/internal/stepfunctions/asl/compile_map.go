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

	if v, ok := inner.field("ProcessorConfig"); ok {
		config := b.object(v, inner.at+"/ProcessorConfig")
		config.allowFields("ProcessorConfig", "Mode", "ExecutionType")

		if mode := config.text("Mode"); mode != "" && mode != "INLINE" {
			b.fault(CodeSchema, config.at+"/Mode", "the embedded engine supports INLINE maps only, not %s", mode)
		}

		if config.has("ExecutionType") {
			b.fault(CodeSchema, config.at+"/ExecutionType",
				"ExecutionType belongs to distributed maps, which the embedded engine does not support")
		}
	}

	s.Branches = []*Flow{b.compileFlow(inner, b.depth+1)}
}
