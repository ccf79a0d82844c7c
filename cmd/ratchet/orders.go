package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/inspect"
	"ratchet/server"
	"ratchet/transitions"
	"ratchet/workflow"
)

func ordersCommand(s *settings) *cobra.Command {
	return group("orders", "Create, read and move orders",
		ordersCreate(s), ordersGet(s), ordersList(s), ordersHistory(s), ordersExplain(s), ordersWatch(s), ordersApply(s), ordersEdit(s), ordersShip(s), ordersRebuild(s))
}

func ordersCreate(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "create ORDER", Short: "Place an order and start its execution", Args: cobra.ExactArgs(1),
		Long: "Places the order and starts its Step Functions execution. Repeating the command with the\n" +
			"same content changes nothing; with other content it is refused.",
	}
	items := c.Flags().StringArray("item", nil, "SKU:QUANTITY:PRICE, the price of one piece in minor units; repeat for more")
	currency := c.Flags().String("currency", "EUR", "ISO 4217 code")
	stock := c.Flags().Int64("stock", 0, "put this many pieces of each item in stock first (for trying things out)")
	alone := c.Flags().Bool("no-execution", false, "only place the order")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *stock < 0 {
			return usageError("stock %d: 0 or more", *stock)
		}

		order, err := parseOrder(args[0], *items, *currency)
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

// parseOrder reads an order from a command's arguments.
func parseOrder(id string, items []string, currency string) (transitions.NewOrder, error) {
	order := transitions.NewOrder{ID: transitions.OrderID(id), Total: transitions.Money{Currency: currency}}
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

// money prints an amount in minor units as it is kept: how many decimals a currency
// has is for whoever shows it to customers.
func money(m transitions.Money) string {
	return fmt.Sprintf("%d %s (minor units)", m.Amount, m.Currency)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func ordersList(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List orders", Args: cobra.NoArgs}
	state := c.Flags().String("state", "", "only orders in this state")
	version := c.Flags().Int("version", 0, "only orders of this version of the definition; 0: any")
	limit := c.Flags().Int("limit", 100, "at most this many, 1 to 1000")
	after := c.Flags().String("after", "", "continue after this order (the last of the page before)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.with(c.Context(), func(b *server.Backend) error {
			orders, next, err := inspect.List(c.Context(), b.Orders, inspect.Page{State: workflow.State(*state), Version: *version,
				After: transitions.OrderID(*after), Limit: *limit})
			if err != nil {
				return err
			}

			if s.json {
				for _, o := range orders {
					if err := printJSON(c.OutOrStdout(), o); err != nil {
						return err
					}
				}

				return nil
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "ORDER\tSTATE\tTRANSITION\tUPDATED")

			for _, o := range orders {
				fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", o.ID, o.State, o.TransitionID, stamp(o.UpdatedAt))
			}

			if err := w.Flush(); err != nil {
				return err
			}

			if next != "" {
				fmt.Fprintf(c.ErrOrStderr(), "more: --after %s\n", next)
			}

			return nil
		})
	}

	return c
}

func ordersHistory(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "history ORDER", Short: "Show every transition of an order, from its journal", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				order, err := getOrder(c.Context(), b, args[0])
				if err != nil {
					return err
				}

				rows, err := b.Orders.History(c.Context(), order.ID, 0, 0)
				if err != nil {
					return err
				}

				return printHistory(c.OutOrStdout(), c.ErrOrStderr(), s.json, rows, order)
			})
		},
	}
}

func printHistory(out, notes io.Writer, asJSON bool, rows []transitions.Transition, order *transitions.Order) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "ID\tEVENT\tFROM\tTO\tAT")
	}

	var last transitions.TransitionID
	for _, t := range rows {
		last = t.ID
		if asJSON {
			if err := printJSON(out, t); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", t.ID, t.Event, t.From, t.To, stamp(t.At))
	}

	if last < order.TransitionID {
		fmt.Fprintf(notes, "the journal is behind: it ends at transition %d, the order is at %d\n", last, order.TransitionID)
	}

	return w.Flush()
}

func ordersWatch(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "watch ORDER", Short: "Print each move of an order until it can move no more", Args: cobra.ExactArgs(1),
		Long: "Reads the order again and again and prints its moves. Ends when the order is in a terminal\n" +
			"state, in the state named by --until, or on Ctrl-C.",
	}
	every := c.Flags().Duration("every", 250*time.Millisecond, "pause between two reads, at least 10ms")
	until := c.Flags().String("until", string(workflow.Delivered), "also end in this state")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *every < 10*time.Millisecond {
			return usageError("every %s: at least 10ms", *every)
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			if !b.Orders.Definition().HasState(workflow.State(*until)) {
				return usageError("until %q: no such state (see `ratchet workflow show`)", *until)
			}
			return watch(c.Context(), c.OutOrStdout(), b, args[0], *every, workflow.State(*until), s.json)
		})
	}

	return c
}

func watch(ctx context.Context, out io.Writer, b *server.Backend, id string, every time.Duration, until workflow.State, asJSON bool) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()

	var seen transitions.TransitionID
	for {
		order, err := getOrder(ctx, b, id)
		if err != nil {
			return err
		}

		for _, t := range order.Recent() {
			if t.ID <= seen {
				continue
			}

			seen = t.ID
			if asJSON {
				err = printJSON(out, t)
			} else {
				_, err = fmt.Fprintf(out, "%s  %3d  %-14s %s\n", t.At.Local().Format("15:04:05.000"), t.ID, t.Event, t.To)
			}

			if err != nil {
				return err
			}
		}

		if order.State == until || b.Orders.Definition().Terminal(order.State) {
			return nil
		}

		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
