package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/transitions"
)

// amountFlag is the help text of every --amount.
const amountFlag = "in minor units (cents), a whole number above 0"

// needAmount fails if --amount is missing. Its default of 0 is never meant.
func needAmount(c *cobra.Command) error {
	// 0 would be refused anyway, but with an error about a value that the caller did not give.
	if !c.Flags().Changed("amount") {
		return usageError("%s needs --amount: %s", c.CommandPath(), amountFlag)
	}
	return nil
}

// money formats an amount in minor units, as it is stored. The command line does not know
// how many decimals a currency has.
func money(m transitions.Money) string {
	return fmt.Sprintf("%d %s (minor units)", m.Amount, m.Currency)
}
