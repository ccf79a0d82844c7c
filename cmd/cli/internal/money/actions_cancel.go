package money

import (
	"context"

	"github.com/spf13/cobra"

	"ratchet/once/actions"
)

func actionsCancel(a *actionSettings) *cobra.Command {
	c := &cobra.Command{Use: "cancel ID", Short: "Cancel an action that was not used"}
	r := &actions.Request{}

	return useAction(a, c, r, pinFlags{}, actions.Canceled, func(ctx context.Context, all *actions.Actions) (actions.Result, error) {
		return all.Cancel(ctx, r.ID)
	})
}
