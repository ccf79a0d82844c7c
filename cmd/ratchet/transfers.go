package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/ledger"
	"ratchet/server"
)

func transfersCommand(s *settings) *cobra.Command {
	return group("transfers", "Move money between accounts of the ledger", transfersCreate(s), transfersGet(s), transfersList(s))
}

func transfersCreate(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "create TRANSFER", Short: "Make a transfer, once", Args: cobra.ExactArgs(1),
		Long: "Moves money, all legs in one transaction. Repeating the command prints the transfer that was\n" +
			"made; other content under the id is refused.\n\n" +
			"  ratchet transfers create t-1 --from alice --to bob --amount 1250\n" +
			"  ratchet transfers create t-2 --leg alice:-1000 --leg shop:970 --leg fees:30",
	}
	from := c.Flags().String("from", "", "account that is debited")
	to := c.Flags().String("to", "", "account that is credited")
	amount := c.Flags().Int64("amount", 0, amountFlag)
	legs := c.Flags().StringArray("leg", nil, "ACCOUNT:AMOUNT, negative for a debit; instead of --from, --to and --amount; repeat")
	hold := c.Flags().String("hold", "", "hold of the account --from that the money is taken from")
	release := c.Flags().Bool("release", false, "give back what the hold has left")
	currency := c.Flags().String("currency", "EUR", "ISO 4217 code")
	reference := c.Flags().String("reference", "", "what it is for")
	c.RunE = func(c *cobra.Command, args []string) error {
		t := ledger.Move(args[0], *from, *to, *amount, *currency)
		t.Legs[0].Hold, t.Legs[0].Release, t.Reference = *hold, *release, *reference
		if len(*legs) > 0 {
			if *from != "" || *to != "" || *amount != 0 || *hold != "" {
				return usageError("--leg stands instead of --from, --to, --amount and --hold")
			}

			var err error
			if t.Legs, err = parseLegs(*legs); err != nil {
				return err
			}
		} else if err := needAmount(c); err != nil {
			return err
		}

		if err := t.Validate(); err != nil {
			return err
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			posted, err := b.Ledger.Post(c.Context(), t)
			if err != nil {
				return err
			}

			return printTransfer(c.OutOrStdout(), s.json, posted)
		})
	}

	return c
}

func parseLegs(texts []string) (legs []ledger.Leg, err error) {
	for _, text := range texts {
		at := strings.LastIndex(text, ":")
		amount, err := strconv.ParseInt(text[at+1:], 10, 64)
		if at < 0 || err != nil {
			return nil, usageError("leg %q: must be ACCOUNT:AMOUNT", text)
		}
		legs = append(legs, ledger.Leg{Account: text[:at], Amount: amount})
	}

	return legs, nil
}

func printTransfer(out io.Writer, asJSON bool, p ledger.Posted) error {
	if asJSON {
		return printJSON(out, p)
	}
	fmt.Fprintf(out, "%s: transfer %s of %s\n", map[bool]string{false: "Posted", true: "Replayed"}[p.Replayed], p.ID, stamp(p.At))

	for _, e := range p.Postings {
		fmt.Fprintf(out, "  %s %+d %s, balance %d\n", e.Account, e.Amount, p.Currency, e.Balance)
	}

	return nil
}

func transfersGet(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "get TRANSFER", Short: "Show a transfer", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				p, found, err := b.Ledger.Transfer(c.Context(), args[0])
				if err == nil && !found {
					err = fmt.Errorf("transfer %s: %w", args[0], errNotFound)
				}

				if err != nil {
					return err
				}

				return printTransfer(c.OutOrStdout(), s.json, p)
			})
		},
	}
}

func transfersList(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List transfers, in no useful order", Args: cobra.NoArgs}
	limit := c.Flags().Int("limit", 100, "how many, 1 to 1000")
	after := c.Flags().String("after", "", "the next of the page before")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.with(c.Context(), func(b *server.Backend) error {
			all, next, err := b.Ledger.Transfers(c.Context(), *after, *limit)
			if err != nil {
				return err
			}

			if s.json {
				return printJSON(c.OutOrStdout(), map[string]any{"transfers": all, "next": next})
			}

			for _, p := range all {
				if err := printTransfer(c.OutOrStdout(), false, p); err != nil {
					return err
				}
			}

			return printMore(c.ErrOrStderr(), next, nil)
		})
	}

	return c
}
