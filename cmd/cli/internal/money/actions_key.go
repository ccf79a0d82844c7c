package money

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/once/actions"
)

func actionsKey() *cobra.Command {
	c := &cobra.Command{
		Use: "key", Short: "Make a key for the setting action-keys", Args: cobra.NoArgs,
		Long: "Prints a new random key as VERSION:BASE64. Put it in front of the older ones in RATCHET_ACTION_KEYS\n" +
			"(separated by spaces or commas): the first one signs. Keep a key until every action made with it has\n" +
			"expired.",
	}
	version := c.Flags().Int("version", 1, "1 to 31, other than those of the other keys")
	c.RunE = func(c *cobra.Command, _ []string) error {
		// The same check as for the setting, so that a key that is printed can be used.
		key := actions.NewKey(*version)
		if _, err := actions.ParseKeys(key.Reveal()); err != nil {
			return err
		}
		_, err := fmt.Fprintln(c.OutOrStdout(), key.Reveal())

		return err
	}

	return c
}
