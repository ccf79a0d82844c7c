package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/inventory"
	"ratchet/server"
	"ratchet/transitions"
)

const inventoryHelp = `Stock: what is available, reserved and committed, per SKU and per order.

Reserving, committing and releasing may be repeated: each happens once per order. A
reservation with --for ends: then it cannot be committed, and workers (or
` + "`ratchet inventory expire`" + `) put the pieces back.

Exit status 3: out of stock, or the reservation is closed or expired.`

func inventoryCommand(s *settings) *cobra.Command {
	c := group("inventory", "Look at stock; reserve, commit and release it", inventoryGet(s), inventorySet(s), inventoryShow(s),
		inventoryReserve(s), inventoryAddItems(s), inventoryEnd(s, "commit", "Turn an order's reservation into sold pieces", (*inventory.Stock).Commit),
		inventoryEnd(s, "release", "Put an order's reserved pieces back", (*inventory.Stock).Release), inventoryExpire(s))
	c.Long = inventoryHelp

	return c
}

func inventoryGet(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "get SKU...", Short: "Show what SKUs have", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				levels := make([]inventory.Level, len(args))
				for i, sku := range args {
					var found bool
					var err error
					if levels[i], found, err = b.Stock.Level(c.Context(), sku); err != nil {
						return err
					}

					if !found {
						return fmt.Errorf("sku %s: %w", sku, errNotFound)
					}
				}

				return printLevels(c.OutOrStdout(), s.json, levels)
			})
		},
	}
}

func printLevels(out io.Writer, asJSON bool, levels []inventory.Level) error {
	if asJSON {
		for _, l := range levels {
			if err := printJSON(out, l); err != nil {
				return err
			}
		}

		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SKU\tAVAILABLE\tRESERVED\tCOMMITTED")

	for _, l := range levels {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", l.SKU, l.Available, l.Reserved, l.Committed)
	}

	return w.Flush()
}

func inventorySet(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "set SKU PIECES", Short: "Put the available pieces of a SKU to a number", Args: cobra.ExactArgs(2),
		Long: "Sets what is available, and leaves what is reserved and committed as it is.",
		RunE: func(c *cobra.Command, args []string) error {
			pieces, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || pieces < 0 || pieces > inventory.MaxQuantity {
				return usageError("pieces %q: must be a whole number, 0 to %d", args[1], inventory.MaxQuantity)
			}

			return s.with(c.Context(), func(b *server.Backend) error {
				if err := b.Stock.Set(c.Context(), args[0], pieces); err != nil {
					return err
				}

				l, _, err := b.Stock.Level(c.Context(), args[0])
				switch {
				case err != nil:
					return err
				case s.json:
					return printJSON(c.OutOrStdout(), l)
				}
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %d available, %d reserved, %d committed\n", l.SKU, l.Available, l.Reserved, l.Committed)

				return err
			})
		},
	}
}

func inventoryShow(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "show ORDER", Short: "Show an order's reservation", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				r, found, err := b.Stock.Reservation(c.Context(), args[0])
				switch {
				case err != nil:
					return err
				case !found:
					return fmt.Errorf("reservation of order %s: %w", args[0], errNotFound)
				case s.json:
					return printJSON(c.OutOrStdout(), r)
				}
				w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
				fmt.Fprintf(w, "order\t%s\nstatus\t%s\n", r.Order, r.Status)

				if !r.ExpiresAt.IsZero() {
					fmt.Fprintf(w, "until\t%s\n", stamp(r.ExpiresAt))
				}

				for _, l := range r.Lines {
					fmt.Fprintf(w, "line\t%d x %s\n", l.Quantity, l.SKU)
				}

				return w.Flush()
			})
		},
	}
}

func inventoryReserve(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "reserve ORDER SKU:PIECES...", Short: "Set pieces aside for an order, all or none", Args: cobra.MinimumNArgs(2)}
	hold := c.Flags().Duration("for", 0, "how long; default: until they are committed or released")
	c.RunE = func(c *cobra.Command, args []string) error {
		var lines []inventory.Line
		for _, text := range args[1:] {
			i := strings.LastIndexByte(text, ':')
			pieces, err := strconv.ParseInt(text[i+1:], 10, 64)
			if i < 0 || err != nil {
				return usageError("line %q: must be SKU:PIECES", text)
			}
			lines = append(lines, inventory.Line{SKU: text[:i], Quantity: pieces})
		}

		if *hold < 0 {
			return usageError("for %s: must not be negative", *hold)
		}

		var until time.Time
		if *hold > 0 {
			until = time.Now().Add(*hold)
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			if err := b.Stock.ReserveUntil(c.Context(), args[0], lines, until); err != nil {
				return err
			}
			return s.tellReservation(c, b, args[0])
		})
	}

	return c
}

// tellReservation says in one line what an order has reserved now.
func (s *settings) tellReservation(c *cobra.Command, b *server.Backend, order string) error {
	r, _, err := b.Stock.Reservation(c.Context(), order)
	switch {
	case err != nil:
		return err
	case s.json:
		return printJSON(c.OutOrStdout(), r)
	}

	pieces := make([]string, len(r.Lines))
	for i, l := range r.Lines {
		pieces[i] = fmt.Sprintf("%d x %s", l.Quantity, l.SKU)
	}

	until := ""
	if !r.ExpiresAt.IsZero() {
		until = ", until " + stamp(r.ExpiresAt)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "order %s is %s: %s%s\n", r.Order, r.Status, strings.Join(pieces, ", "), until)

	return err
}

func inventoryAddItems(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "add-items ORDER SKU:QUANTITY:PRICE...", Short: "Add lines to an order and set their pieces aside, in one transaction", Args: cobra.MinimumNArgs(2),
		Long: "Adds lines to an order that is not paid yet, and reserves their pieces for it: all or nothing.\n" +
			"Repeating the command with the same --event-id does nothing more.",
	}
	event := c.Flags().String("event-id", "", "names this edit; default: a new name for each call")
	c.RunE = func(c *cobra.Command, args []string) error {
		var lines []transitions.Item
		for _, text := range args[1:] {
			line, err := parseItem(text)
			if err != nil {
				return err
			}
			lines = append(lines, line)
		}

		e := transitions.Edit{OrderID: transitions.OrderID(args[0]), EventID: transitions.RequestID(*event)}
		if e.EventID == "" {
			e.EventID = transitions.RequestID("cli-" + newRequestID())
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			r, err := b.AddItems(c.Context(), e, lines...)
			switch {
			case err != nil:
				return err
			case r.Verdict.Done() && !s.json:
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %d lines for order %s, with their pieces\n", r.Verdict, len(lines), e.OrderID)
				return err
			}

			return printEdit(c.OutOrStdout(), s.json, e.OrderID, r)
		})
	}

	return c
}

func inventoryEnd(s *settings, verb, short string, end func(*inventory.Stock, context.Context, string) error) *cobra.Command {
	return &cobra.Command{
		Use: verb + " ORDER", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				if err := end(b.Stock, c.Context(), args[0]); err != nil {
					return err
				}
				return s.tellReservation(c, b, args[0])
			})
		},
	}
}

func inventoryExpire(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "expire", Short: "Put back the pieces of reservations that have ended", Args: cobra.NoArgs,
		Long: "Does what every worker does once a minute, and prints how many reservations it looked at.",
	}
	limit := c.Flags().Int("limit", 1000, "at most this many, 1 to 100000")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *limit < 1 || *limit > 100_000 {
			return usageError("limit %d: 1 to 100000", *limit)
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			n, err := b.Stock.ExpireDue(c.Context(), *limit)
			if s.json {
				return errors.Join(printJSON(c.OutOrStdout(), map[string]int{"expired": n}), err)
			}
			_, printed := fmt.Fprintf(c.OutOrStdout(), "%d reservations had ended\n", n)

			return errors.Join(printed, err)
		})
	}

	return c
}
