package legacy

import (
	"slices"

	"ratchet/embedded/internal/expression"
	"ratchet/embedded/internal/wire"
)

// AttributesToGet returns AttributesToGet as a projection, nil for none.
func AttributesToGet(names []string) (*expression.Projection, error) {
	if names == nil {
		return nil, nil
	}

	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, wire.Invalid("One or more parameter values were invalid: Duplicate value in attribute name: %s", name)
		}
	}

	return expression.NewProjection(names)
}
