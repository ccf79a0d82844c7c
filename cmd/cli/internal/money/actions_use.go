package money

import (
	"context"

	"github.com/spf13/cobra"

	"ratchet/once/actions"
)

// useAction completes a command that calls one method on one action. done is the outcome of
// success.
func useAction(a *actionSettings, c *cobra.Command, request *actions.Request, pin pinFlags, done actions.Outcome,
	call func(context.Context, *actions.Actions) (actions.Result, error)) *cobra.Command {
	c.Args = cobra.ExactArgs(1)
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if request.ID, err = a.id(c, args[0]); err != nil {
			return err
		}

		// Commands without the flags of a PIN pass a zero value.
		if pin.ask != nil {
			if request.PIN, err = pin.read(c, a); err != nil {
				return err
			}
		}

		return a.with(c, func(all *actions.Actions) error {
			r, err := call(c.Context(), all)
			if err != nil {
				return err
			}

			return printOutcome(c.OutOrStdout(), a.JSON, r, done)
		})
	}

	return c
}

// holdFlags adds the flags that name a hold.
func holdFlags(c *cobra.Command, r *actions.Request) {
	c.Flags().StringVar(&r.Holder, "holder", "", "holder of the action, as given to reserve")
	c.Flags().Int64Var(&r.Fence, "fence", 0, "fence of the hold, as reserve printed it")
}
