package orders

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/views"
	"ratchet/server"
)

func ordersCreate(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "create ORDER", Short: "Create an order and start its execution", Args: cobra.ExactArgs(1),
		Long: "Creates the order and starts its Step Functions execution. A repeat with the same content\n" +
			"changes nothing; with other content it is refused. The definition says which parts an order\n" +
			"has; a part that it lacks is refused.",
		Example: "  ratchet orders create o-1 --item mug:2:1250 --customer c-42",
	}
	var flags newOrderFlags
	flags.addTo(c)
	stock := c.Flags().Int64("stock", 0, "first set the stock of each item to this many pieces, for experiments")
	alone := c.Flags().Bool("no-execution", false, "create the order without its execution")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *stock < 0 {
			return exit.UsageError("stock %d: 0 or more", *stock)
		}

		order, err := flags.order(args[0])
		if err != nil {
			return err
		}

		// An order without an execution needs no state machine.
		with := s.WithWorkflow
		if *alone {
			with = s.With
		}

		return with(c.Context(), func(b *server.Backend) error {
			if err := flags.setTotal(c, &order, b.Orders); err != nil {
				return err
			}

			// The order is created after the lookup: without its state machine it would wait
			// without an execution.
			var arn string
			if !*alone {
				var err error
				if arn, err = b.StateMachineARN(c.Context()); err != nil {
					return err
				}
			}

			// The stock is set before the execution can reserve it.
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

			// A replay starts the execution, too: the call before may have died between the two.
			if result.Verdict.Done() && !*alone {
				if _, err := b.Start(c.Context(), arn, order); err != nil {
					return err
				}
			}

			return views.PrintResult(c.OutOrStdout(), s.JSON, order.ID, result)
		})
	}

	return c
}
