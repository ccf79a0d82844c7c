package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/ledger"
	"ratchet/server"
)

func holdsCommand(s *settings) *cobra.Command {
	return group("holds", "Set money of an account aside", holdsCreate(s), holdsGet(s), holdsRelease(s))
}

func holdsCreate(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "create ACCOUNT HOLD", Short: "Set money aside, once", Args: cobra.ExactArgs(2),
		Long: "Sets money of an account aside. `ratchet transfers create --hold` spends it, `holds release`\n" +
			"gives it back; so do workers when --expires-in has passed.",
	}
	amount := c.Flags().Int64("amount", 0, amountFlag)
	currency := c.Flags().String("currency", "EUR", "ISO 4217 code")
	expires := c.Flags().Duration("expires-in", 0, "how long it stands, like 48h; 0: until it is settled or released")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := needAmount(c); err != nil {
			return err
		}

		if *expires < 0 {
			return usageError("expires-in %s: must not be negative", *expires)
		}

		n := ledger.NewHold{Account: args[0], ID: args[1], Amount: *amount, Currency: *currency, ExpiresAt: in(*expires)}
		if err := n.Validate(); err != nil {
			return err
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			h, _, err := b.Ledger.Reserve(c.Context(), n)
			if err != nil {
				return err
			}

			return printHold(c.OutOrStdout(), s.json, h)
		})
	}

	return c
}

func printHold(out io.Writer, asJSON bool, h ledger.Hold) error {
	if asJSON {
		return printJSON(out, h)
	}

	expires := ""
	if !h.ExpiresAt.IsZero() {
		expires = ", expires " + stamp(h.ExpiresAt)
	}
	_, err := fmt.Fprintf(out, "hold %s on account %s is %s: %d of %d %s left%s\n", h.ID, h.Account, h.Status, h.Remaining, h.Amount, h.Currency, expires)

	return err
}

func holdsGet(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "get ACCOUNT HOLD", Short: "Show a hold", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				h, found, err := b.Ledger.Hold(c.Context(), args[0], args[1])
				if err == nil && !found {
					err = fmt.Errorf("hold %s: %w", args[1], errNotFound)
				}

				if err != nil {
					return err
				}

				return printHold(c.OutOrStdout(), s.json, h)
			})
		},
	}
}

func holdsRelease(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "release ACCOUNT HOLD", Short: "Give back what a hold has left", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				h, err := b.Ledger.Release(c.Context(), args[0], args[1])
				if err != nil {
					return err
				}

				return printHold(c.OutOrStdout(), s.json, h)
			})
		},
	}
}
