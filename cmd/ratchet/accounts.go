package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/ledger"
	"ratchet/server"
)

func accountsCommand(s *settings) *cobra.Command {
	return group("accounts", "Open, read and close accounts of the ledger",
		accountsCreate(s), accountsGet(s), accountsList(s), accountsStatement(s), accountsClose(s))
}

func accountsCreate(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "create ACCOUNT", Short: "Open an account", Args: cobra.ExactArgs(1),
		Long: "Opens an account. Repeating the command with the same content changes nothing.\n\n" +
			"Side credit is for what is owed to somebody (customers, merchants), debit for what one has\n" +
			"(cash, claims). Without --overdraft the balance stays on its side; the world outside (a\n" +
			"bank, a processor's clearing account) needs it. --shards spreads a hot account.",
	}
	currency := c.Flags().String("currency", "EUR", "ISO 4217 code")
	side := c.Flags().String("side", string(ledger.Credit), "credit or debit")
	overdraft := c.Flags().Bool("overdraft", false, "the balance may stand on either side")
	shards := c.Flags().Int("shards", 1, "items that the balance is spread over, 1 to 16")
	c.RunE = func(c *cobra.Command, args []string) error {
		n := ledger.NewAccount{ID: args[0], Currency: *currency, Side: ledger.Side(*side), Overdraft: *overdraft, Shards: *shards}
		if err := n.Validate(); err != nil {
			return err
		}

		return s.with(c.Context(), func(b *server.Backend) error {
			a, replayed, err := b.Ledger.CreateAccount(c.Context(), n)
			if err != nil {
				return err
			}

			if s.json {
				return printJSON(c.OutOrStdout(), struct {
					ledger.Account
					Replayed bool `json:"replayed"`
				}{a, replayed})
			}
			word := map[bool]string{false: "Opened", true: "Replayed"}[replayed]
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: account %s in %s\n", word, a.ID, a.Currency)

			return err
		})
	}

	return c
}

func accountsGet(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "get ACCOUNT", Short: "Show an account as it is now", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				a, found, err := b.Ledger.Account(c.Context(), args[0])
				switch {
				case err != nil:
					return err
				case !found:
					return fmt.Errorf("account %s: %w", args[0], errNotFound)
				case s.json:
					return printJSON(c.OutOrStdout(), a)
				}

				return printAccounts(c.OutOrStdout(), a)
			})
		},
	}
}

func printAccounts(out io.Writer, all ...ledger.Account) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "account\tcurrency\tside\tstatus\tbalance\tavailable\theld\tentries\tshards")

	for _, a := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", a.ID, a.Currency, a.Side, a.Status, a.Balance, a.Available, a.Held, a.Entries, a.Shards)
	}

	return w.Flush()
}

func accountsList(s *settings) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List accounts, in no useful order", Args: cobra.NoArgs}
	limit := c.Flags().Int("limit", 100, "how many, 1 to 1000")
	after := c.Flags().String("after", "", "the next of the page before")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.with(c.Context(), func(b *server.Backend) error {
			all, next, err := b.Ledger.Accounts(c.Context(), *after, *limit)
			if err != nil {
				return err
			}

			if s.json {
				return printJSON(c.OutOrStdout(), map[string]any{"accounts": all, "next": next})
			}

			return printMore(c.ErrOrStderr(), next, printAccounts(c.OutOrStdout(), all...))
		})
	}

	return c
}

// printMore says how to go on, when there is more.
func printMore(out io.Writer, next string, err error) error {
	if err == nil && next != "" {
		_, err = fmt.Fprintf(out, "more: --after %s\n", next)
	}
	return err
}

func accountsStatement(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "statement ACCOUNT", Short: "List the entries of an account, oldest first", Args: cobra.ExactArgs(1),
		Long: "Lists the entries of an account with the balance after each. Those of a sharded account come\n" +
			"shard by shard.",
	}
	limit := c.Flags().Int("limit", 100, "how many, 1 to 1000")
	after := c.Flags().String("after", "", "the next of the page before")
	c.RunE = func(c *cobra.Command, args []string) error {
		return s.with(c.Context(), func(b *server.Backend) error {
			entries, next, err := b.Ledger.Statement(c.Context(), args[0], *after, *limit)
			if err != nil {
				return err
			}

			if s.json {
				return printJSON(c.OutOrStdout(), map[string]any{"entries": entries, "next": next})
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "entry\tat\tamount\tbalance\ttransfer")

			for _, e := range entries {
				fmt.Fprintf(w, "%d.%d\t%s\t%d\t%d\t%s\n", e.Shard, e.Sequence, stamp(e.At), e.Amount, e.Balance, e.TransferID)
			}

			return printMore(c.ErrOrStderr(), next, w.Flush())
		})
	}

	return c
}

func accountsClose(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "close ACCOUNT", Short: "Close an empty account for good", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.with(c.Context(), func(b *server.Backend) error {
				if err := b.Ledger.CloseAccount(c.Context(), args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(c.OutOrStdout(), "account %s is closed\n", args[0])

				return err
			})
		},
	}
}
