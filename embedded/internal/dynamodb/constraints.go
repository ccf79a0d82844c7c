package dynamodb

import "ratchet/embedded/internal/dynamodb/model"

// constraints collects the members of a request that break the API model.
type constraints struct{ model.Constraints }

// throughput checks a ProvisionedThroughput, which may be nil.
func (c *constraints) throughput(t *throughput, member string) {
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
