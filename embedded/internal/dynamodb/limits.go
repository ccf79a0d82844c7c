package dynamodb

import (
	"context"
	"strings"

	"ratchet/embedded/internal/wire"
)

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

// describeEndpoints returns the address that the caller has used.
func (s *Service) describeEndpoints(ctx context.Context, _ *noIn) (any, error) {
	_, host, _ := strings.Cut(wire.Address(ctx), "://")

	return map[string]any{"Endpoints": []map[string]any{
		{"Address": host, "CachePeriodInMinutes": 1440},
	}}, nil
}
