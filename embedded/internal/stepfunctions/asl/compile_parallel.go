package asl

import (
	"fmt"

	"ratchet/embedded/internal/stepfunctions/rawjson"
)

func (b *builder) compileParallel(s *State, o *object) {
	v, _ := o.field("Branches")
	if rawjson.KindOf(v) != rawjson.Array {
		b.fault(codeSchema, o.at+"/Branches", "the field 'Branches' must be an array with at least one branch")
		return
	}

	if rawjson.Len(v) == 0 {
		b.fault(codeSchema, o.at+"/Branches", "Value cannot be empty")
		return
	}

	for c, i := rawjson.Walk(v), 0; c.Next(); i++ {
		branch := b.object(c.Value, fmt.Sprintf("%s/Branches[%d]", o.at, i))
		branch.allowFields("a branch", "StartAt", "States", "Comment")
		s.Branches = append(s.Branches, b.compileFlow(branch, b.depth+1))
	}
}
