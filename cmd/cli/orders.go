package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/server"
	"ratchet/transitions"
)

func ordersCommand(s *settings) *cobra.Command {
	return group("orders", "Create, read and move orders",
		ordersCreate(s), ordersGet(s), ordersList(s), ordersHistory(s), ordersExplain(s), ordersWatch(s), ordersApply(s), ordersScheduled(s), ordersEdit(s), ordersShip(s), ordersErase(s), ordersRebuild(s), ordersRebuildLists(s), ordersRebuildTimers(s), ordersRenew(s), ordersImport(s), ordersAdopt(s))
}

// parseItem parses SKU:QUANTITY:PRICE. The SKU may contain colons.
func parseItem(text string) (transitions.Item, error) {
	parts := strings.Split(text, ":")
	if len(parts) < 3 {
		return transitions.Item{}, usageError("item %q: must be SKU:QUANTITY:PRICE", text)
	}

	// 32 bits, so that quantity times price fits into 64.
	quantity, err1 := strconv.ParseInt(parts[len(parts)-2], 10, 32)
	price, err2 := strconv.ParseInt(parts[len(parts)-1], 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return transitions.Item{}, usageError("item %q: quantity and price must be whole numbers below 2^31", text)
	}

	return transitions.Item{SKU: strings.Join(parts[:len(parts)-2], ":"), Quantity: quantity, Price: price}, nil
}

// getOrder returns the order, or errNotFound.
func getOrder(ctx context.Context, b *server.Backend, id string) (*transitions.Order, error) {
	order, found, err := b.Orders.Get(ctx, transitions.OrderID(id))
	if err == nil && !found {
		err = fmt.Errorf("order %s: %w", id, errNotFound)
	}

	return order, err
}
