package main

import (
	"context"

	"github.com/spf13/cobra"

	"ratchet/server"
	"ratchet/transitions"
)

func ordersCreate(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "create ORDER", Short: "Create an order and start its execution", Args: cobra.ExactArgs(1),
		Long: "Creates the order and starts its Step Functions execution. A repeat with the same content\n" +
			"changes nothing; with other content it is refused.",
	}
	items := c.Flags().StringArray("item", nil, "SKU:QUANTITY:PRICE, the price of one piece in minor units; repeat for more")
	currency := c.Flags().String("currency", "EUR", "ISO 4217 code")
	customer := c.Flags().String("customer", "", "whose order it is: an id of your system, no personal data")
	stock := c.Flags().Int64("stock", 0, "first set the stock of each item to this many pieces, for experiments")
	alone := c.Flags().Bool("no-execution", false, "create the order without its execution")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *stock < 0 {
			return usageError("stock %d: 0 or more", *stock)
		}

		order, err := parseOrder(args[0], *customer, *items, *currency)
		if err != nil {
			return err
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			for _, item := range order.Items {
				if *stock > 0 {
					if err := b.Stock.Set(c.Context(), item.SKU, *stock); err != nil {
						return err
					}
				}
			}

			result, err := b.Orders.Create(c.Context(), order)
			if err != nil {
				return err
			}

			if result.Verdict.Done() && !*alone {
				if err := startExecution(c.Context(), b, order); err != nil {
					return err
				}
			}

			return printResult(c.OutOrStdout(), s.json, order.ID, result)
		})
	}

	return c
}

func startExecution(ctx context.Context, b *server.Backend, order transitions.NewOrder) error {
	arn, err := b.StateMachineARN(ctx)
	if err != nil {
		return err
	}
	_, err = b.Start(ctx, arn, order)

	return err
}

// parseOrder builds an order from a command's arguments. The total is the sum of the items.
func parseOrder(id, customer string, items []string, currency string) (transitions.NewOrder, error) {
	order := transitions.NewOrder{ID: transitions.OrderID(id), Total: transitions.Money{Currency: currency}, Customer: customer}
	if len(items) == 0 {
		return order, usageError("an order needs at least one --item SKU:QUANTITY:PRICE")
	}

	for _, text := range items {
		item, err := parseItem(text)
		if err != nil {
			return order, err
		}
		order.Items = append(order.Items, item)
		order.Total.Amount += item.Quantity * item.Price
	}

	return order, order.Validate()
}
