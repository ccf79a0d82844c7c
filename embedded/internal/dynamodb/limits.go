package dynamodb

import "context"

type noIn struct{}

// describeLimits returns AWS's default quotas. The engine enforces none of them.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
func (s *Service) describeLimits(context.Context, *noIn) (any, error) {
	return map[string]int{
		"AccountMaxReadCapacityUnits":  80000,
		"AccountMaxWriteCapacityUnits": 80000,
		"TableMaxReadCapacityUnits":    40000,
		"TableMaxWriteCapacityUnits":   40000,
	}, nil
}

// describeEndpoints returns the address that Engine.AWSConfig uses.
func (s *Service) describeEndpoints(context.Context, *noIn) (any, error) {
	return map[string]any{"Endpoints": []map[string]any{
		{"Address": "embedded.ratchet.internal", "CachePeriodInMinutes": 1440},
	}}, nil
}
