package transitions

import (
	"fmt"
	"slices"
	"strconv"

	"ratchet/internal/dynamo"
)

// CheckVersion returns ErrUnknownVersion when the order may not be judged by these
// orders' definition. Orders without a version, which others have created, may.
func (o *Orders) CheckVersion(order *Order) error {
	if order.DefinitionVersion == 0 || slices.Contains(o.versions, order.DefinitionVersion) {
		return nil
	}

	return fmt.Errorf("%w: it is of version %d, known here %v (`ratchet workflow migrate` brings orders to another version)",
		ErrUnknownVersion, order.DefinitionVersion, o.versions)
}

// knownVersions are the versions whose orders may be moved, the definition's own first.
func knownVersions(cfg Config) ([]int, error) {
	versions := []int{cfg.Definition.Version()}
	for _, v := range cfg.Versions {
		if v < 1 {
			return nil, fmt.Errorf("transitions: Config.Versions: %d: versions count from 1", v)
		}

		if !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}

	return versions, nil
}

// ofVersion is the condition that the order is of a known version, or with only of
// that very one. It takes ":version", the definition's own, from the update's values.
func (o *Orders) ofVersion(only int, values image) string {
	if only != 0 {
		values[":only"] = dynamo.N(int64(only))
		return "definitionVersion = :only"
	}

	if len(o.versions) == 1 {
		return "(attribute_not_exists(definitionVersion) OR definitionVersion = :version)"
	}

	list := ":version"
	for i, v := range o.versions[1:] {
		name := ":version" + strconv.Itoa(i)
		values[name] = dynamo.N(int64(v))
		list += ", " + name
	}

	return "(attribute_not_exists(definitionVersion) OR definitionVersion IN (" + list + "))"
}
