package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The names of quotas. All but OpenExecutions, TableWrites and ItemWrites are requests (or
// transitions) per second of one account in one Region.
const (
	StartExecution    = "StartExecution"
	GetActivityTask   = "GetActivityTask"
	SendTaskSuccess   = "SendTaskSuccess"
	SendTaskHeartbeat = "SendTaskHeartbeat"
	StateTransition   = "StateTransition"
	// OpenExecutions is how many executions may be open at the same time.
	OpenExecutions = "OpenExecutions"
	// TableWrites is the write units a second of one table, ItemWrites those of one item.
	TableWrites = "TableWrites"
	ItemWrites  = "ItemWrites"
)

// Quotas are the account's limits by name.
type Quotas map[string]float64

// SourceOfQuotas says where the default quotas come from.
const SourceOfQuotas = "https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html (refill rates) and " +
	"https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html"

// USEast1 returns the default quotas of us-east-1, us-west-2 and eu-west-1.
func USEast1() Quotas {
	return Quotas{
		StartExecution:    300,
		GetActivityTask:   500,
		SendTaskSuccess:   500,
		SendTaskHeartbeat: 500,
		StateTransition:   5000,
		OpenExecutions:    1_000_000,
		TableWrites:       40_000,
		ItemWrites:        1000,
	}
}

// OtherRegions returns the default quotas of the other Regions.
func OtherRegions() Quotas {
	q := USEast1()
	q[StartExecution], q[GetActivityTask], q[SendTaskSuccess], q[SendTaskHeartbeat] = 150, 300, 300, 300
	q[StateTransition] = 800

	return q
}

// ParseQuotas reads quotas from JSON, an object of names and numbers, and puts them over
// those of base.
func ParseQuotas(text []byte, base Quotas) (Quotas, error) {
	var given map[string]float64
	if err := json.Unmarshal(text, &given); err != nil {
		return nil, fmt.Errorf("read quotas: %w", err)
	}

	q := maps.Clone(base)
	for name, value := range given {
		if err := q.Set(name, value); err != nil {
			return nil, err
		}
	}

	return q, nil
}

// Set changes one quota. The error lists the names.
func (q Quotas) Set(name string, value float64) error {
	if _, known := q[name]; !known {
		return fmt.Errorf("quota %q: one of %s", name, strings.Join(slices.Sorted(maps.Keys(q)), ", "))
	}

	if !(value > 0) {
		return fmt.Errorf("quota %s is %v: must be more than 0", name, value)
	}

	q[name] = value

	return nil
}
