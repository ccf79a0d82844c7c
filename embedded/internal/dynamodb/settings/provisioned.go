package settings

import (
	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/wire"
)

// Provisioned is a ProvisionedThroughput in a request, where members may be missing.
type Provisioned struct {
	ReadCapacityUnits  *int64
	WriteCapacityUnits *int64
}

// Constrain checks a ProvisionedThroughput, which may be nil, against the API model.
func (t *Provisioned) Constrain(c *model.Constraints, member string) {
	if t == nil {
		return
	}

	// The service lists the write units first.
	for _, units := range []struct {
		name  string
		value *int64
	}{
		{".writeCapacityUnits", t.WriteCapacityUnits},
		{".readCapacityUnits", t.ReadCapacityUnits},
	} {
		if units.value == nil {
			c.Missing(member + units.name)
		}
		c.AtLeast(units.value, member+units.name, 1)
	}
}

// maxUnits is how many capacity units a request can ask for.
// Source: https://github.com/architect/dynalite test/createTable.js, recorded on the service
const maxUnits = 1_000_000_000_000

// CheckBounds checks the largest values of units that are both given.
func (t *Provisioned) CheckBounds() error {
	switch {
	case *t.ReadCapacityUnits > maxUnits:
		return wire.Invalid("Given value %d for ReadCapacityUnits is out of bounds", *t.ReadCapacityUnits)
	case *t.WriteCapacityUnits > maxUnits:
		return wire.Invalid("Given value %d for WriteCapacityUnits is out of bounds", *t.WriteCapacityUnits)
	}

	return nil
}
