package main

import (
	"context"

	"ratchet/cmd/bench/costs"
)

// benchOrderCosts measures the consumption of an order without a payment: in the demo's scenario, and
// without the tables of the sandboxes.
func benchOrderCosts(ctx context.Context, _ size) ([]figure, error) {
	use, err := costs.PerOrder(ctx)
	if err != nil {
		return nil, err
	}

	all, err := costs.PerOrderOfScenario(ctx)

	return []figure{
		{name: "order_calls_scenario", value: all.Calls, about: "calls of AWS per order of the demo's scenario with nothing to pay, with the sandboxes"},
		{name: "order_calls", value: use.Calls, about: "calls of AWS per order of one SKU, without its payment and the far sides"},
		{name: "order_write_units", value: use.Write, about: "write units"},
		{name: "order_read_units", value: use.Read, about: "read units"},
		{name: "order_state_transitions", value: use.Transitions, about: "state transitions of a quick parcel"},
		{
			name:  "order_state_transitions_5_days",
			value: use.LongTransitions,
			about: "state transitions of an order that ships after two days and is delivered three days later",
		},
	}, err
}
