package money

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"ratchet/once/actions"
)

func actionsReserve(a *actionSettings) *cobra.Command {
	c := &cobra.Command{
		Use: "reserve ID", Short: "Hold an action, so that only its holder can use it for a while",
		Long: "Holds the action for --holder and prints the hold's fence, which consume and release need. A\n" +
			"repeat by the same holder gets the same hold.",
	}
	r := &actions.Request{}
	c.Flags().StringVar(&r.Holder, "holder", "", "name of the holder (required)")
	d := c.Flags().Duration("for", time.Minute, "how long, 1s to 24h")

	return useAction(a, c, r, addPINFlags(c), actions.Reserved, func(ctx context.Context, all *actions.Actions) (actions.Result, error) {
		return all.Reserve(ctx, *r, *d)
	})
}
