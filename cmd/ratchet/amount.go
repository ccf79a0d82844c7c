package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/transitions"
)

// amountFlag says in one place how amounts are written.
const amountFlag = "in minor units (cents), a whole number above 0"

// needAmount refuses a command whose amount was left out: 0 is not what was meant.
func needAmount(c *cobra.Command) error {
	if !c.Flags().Changed("amount") {
		return usageError("%s needs --amount: %s", c.CommandPath(), amountFlag)
	}
	return nil
}

// money prints an amount in minor units as it is kept: how many decimals a currency
// has is for whoever shows it to customers.
func money(m transitions.Money) string {
	return fmt.Sprintf("%d %s (minor units)", m.Amount, m.Currency)
}
