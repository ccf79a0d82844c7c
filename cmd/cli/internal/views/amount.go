package views

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/transitions"
)

// AmountFlag is the help text of every --amount.
const AmountFlag = "in minor units (cents), a whole number above 0"

// NeedAmount fails if --amount is missing. Its default of 0 is never meant.
func NeedAmount(c *cobra.Command) error {
	// 0 would be refused anyway, but with an error about a value that the caller did not give.
	if !c.Flags().Changed("amount") {
		return exit.UsageError("%s needs --amount: %s", c.CommandPath(), AmountFlag)
	}
	return nil
}

// Money formats an amount in minor units, as it is stored. The command line does not know
// how many decimals a currency has.
func Money(m transitions.Money) string {
	return fmt.Sprintf("%d %s (minor units)", m.Amount, m.Currency)
}
