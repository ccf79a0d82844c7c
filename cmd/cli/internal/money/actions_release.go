package money

import (
	"context"

	"github.com/spf13/cobra"

	"ratchet/once/actions"
)

func actionsRelease(a *actionSettings) *cobra.Command {
	c := &cobra.Command{Use: "release ID", Short: "End a hold"}
	r := &actions.Request{}
	holdFlags(c, r)

	return useAction(a, c, r, pinFlags{}, actions.Released, func(ctx context.Context, all *actions.Actions) (actions.Result, error) {
		return all.Release(ctx, *r)
	})
}
