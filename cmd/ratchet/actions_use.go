package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"ratchet/actions"
)

// useAction is a command that asks something of one action.
func useAction(a *actionSettings, c *cobra.Command, request *actions.Request, pin pinFlags, done actions.Outcome,
	ask func(context.Context, *actions.Actions) (actions.Result, error)) *cobra.Command {
	c.Args = cobra.ExactArgs(1)
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if request.ID, err = a.id(c, args[0]); err != nil {
			return err
		}

		if pin.ask != nil {
			if request.PIN, err = pin.read(c, a); err != nil {
				return err
			}
		}

		return a.with(c, func(all *actions.Actions) error {
			r, err := ask(c.Context(), all)
			if err != nil {
				return err
			}

			return printOutcome(c.OutOrStdout(), a.json, r, done)
		})
	}

	return c
}

func actionsConsume(a *actionSettings) *cobra.Command {
	c := &cobra.Command{
		Use: "consume ID", Short: "Use an action, once",
		Long: "Uses the action and prints its payload. Repeating the command with the same --consume-id prints\n" +
			"the same again; anybody else is told already_used. With --holder and --fence it succeeds only\n" +
			"under that hold.",
	}
	r := &actions.Request{}
	c.Flags().StringVar(&r.ConsumeID, "consume-id", "", "names this consumption; nobody else may guess it; default: a new name for each call")
	holdFlags(c, r)

	return useAction(a, c, r, addPINFlags(c), actions.Consumed, func(ctx context.Context, all *actions.Actions) (actions.Result, error) {
		return all.Consume(ctx, *r)
	})
}

func holdFlags(c *cobra.Command, r *actions.Request) {
	c.Flags().StringVar(&r.Holder, "holder", "", "who holds the action, as given to reserve")
	c.Flags().Int64Var(&r.Fence, "fence", 0, "the hold's number, as reserve printed it")
}

func actionsReserve(a *actionSettings) *cobra.Command {
	c := &cobra.Command{
		Use: "reserve ID", Short: "Hold an action, so that nobody else can use it for a while",
		Long: "Holds the action for --holder and prints the hold's fence, which consume and release need. The\n" +
			"same holder gets the same hold again.",
	}
	r := &actions.Request{}
	c.Flags().StringVar(&r.Holder, "holder", "", "who holds it (required)")
	d := c.Flags().Duration("for", time.Minute, "how long, 1s to 24h")

	return useAction(a, c, r, addPINFlags(c), actions.Reserved, func(ctx context.Context, all *actions.Actions) (actions.Result, error) {
		return all.Reserve(ctx, *r, *d)
	})
}

func actionsRelease(a *actionSettings) *cobra.Command {
	c := &cobra.Command{Use: "release ID", Short: "Give a hold back"}
	r := &actions.Request{}
	holdFlags(c, r)

	return useAction(a, c, r, pinFlags{}, actions.Released, func(ctx context.Context, all *actions.Actions) (actions.Result, error) {
		return all.Release(ctx, *r)
	})
}

func actionsCancel(a *actionSettings) *cobra.Command {
	c := &cobra.Command{Use: "cancel ID", Short: "End an action that nobody has used"}
	r := &actions.Request{}

	return useAction(a, c, r, pinFlags{}, actions.Canceled, func(ctx context.Context, all *actions.Actions) (actions.Result, error) {
		return all.Cancel(ctx, r.ID)
	})
}
