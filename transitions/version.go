package transitions

import (
	"slices"
	"strconv"

	"ratchet/internal/dynamo"
)

// versions are the versions of the definition whose orders may be moved, and the
// condition that an order has such a version.
type versions struct {
	known     []int // the definition's own first
	condition string
	values    image // of the condition; ":version" is the definition's own
}

func newVersions(own int, others []int) versions {
	// An order that another program has created has no version, and may be moved.
	v := versions{
		known:     []int{own},
		condition: "(attribute_not_exists(definitionVersion) OR definitionVersion = :version)",
		values:    image{":version": dynamo.N(int64(own))},
	}

	list := ":version"
	for _, other := range others {
		if slices.Contains(v.known, other) {
			continue
		}

		name := ":version" + strconv.Itoa(len(v.known))
		v.known = append(v.known, other)
		v.values[name] = dynamo.N(int64(other))
		list += ", " + name
		v.condition = "(attribute_not_exists(definitionVersion) OR definitionVersion IN (" + list + "))"
	}

	return v
}
