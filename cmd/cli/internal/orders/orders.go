package orders

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
	"ratchet/transitions"
)

func ordersCommand(s *settings.Settings) *cobra.Command {
	return settings.Group("orders", "Create, read and move orders",
		ordersCreate(s), ordersGet(s), ordersList(s), ordersHistory(s), ordersExplain(s), ordersWatch(s), ordersApply(s), ordersScheduled(s), ordersEdit(s), ordersShip(s), ordersErase(s), ordersRebuild(s), ordersRebuildLists(s), ordersRebuildTimers(s), ordersRenew(s), ordersImport(s), ordersAdopt(s))
}

// getOrder returns the order, or exit.ErrNotFound.
func getOrder(ctx context.Context, b *server.Backend, id string) (*transitions.Order, error) {
	order, found, err := b.Orders.Get(ctx, transitions.OrderID(id))
	if err == nil && !found {
		err = fmt.Errorf("order %s: %w", id, exit.ErrNotFound)
	}

	return order, err
}
