package money

import (
	"context"

	"github.com/spf13/cobra"

	"ratchet/once/actions"
)

func actionsConsume(a *actionSettings) *cobra.Command {
	c := &cobra.Command{
		Use: "consume ID", Short: "Use an action, once",
		Long: "Uses the action and prints its payload. Repeating the command with the same --consume-id prints\n" +
			"the same result; every other call gets already_used. With --holder and --fence it succeeds only\n" +
			"under that hold.",
	}
	r := &actions.Request{}
	c.Flags().StringVar(&r.ConsumeID, "consume-id", "", "name of this consumption, which others must not be able to guess; default: a new name for each call")
	holdFlags(c, r)

	return useAction(a, c, r, addPINFlags(c), actions.Consumed, func(ctx context.Context, all *actions.Actions) (actions.Result, error) {
		return all.Consume(ctx, *r)
	})
}
