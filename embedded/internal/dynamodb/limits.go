package dynamodb

import "context"

type noIn struct{}

// describeLimits tells AWS's default quotas; the engine enforces none of them.
func (s *Service) describeLimits(context.Context, *noIn) (any, error) {
	return map[string]int{
		"AccountMaxReadCapacityUnits": 80000, "AccountMaxWriteCapacityUnits": 80000,
		"TableMaxReadCapacityUnits": 40000, "TableMaxWriteCapacityUnits": 40000,
	}, nil
}

// describeEndpoints names the address that Engine.AWSConfig uses.
func (s *Service) describeEndpoints(context.Context, *noIn) (any, error) {
	return map[string]any{"Endpoints": []map[string]any{
		{"Address": "embedded.ratchet.internal", "CachePeriodInMinutes": 1440},
	}}, nil
}
