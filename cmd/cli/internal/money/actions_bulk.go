package money

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/once/actions"
)

func actionsBulk(a *actionSettings) *cobra.Command {
	c := &cobra.Command{
		Use: "bulk BATCH", Short: "Make many actions with coupon codes, and print the codes", Args: cobra.ExactArgs(1),
		Long: "Makes the batch and prints its codes, one per line (with --json one object per line). Repeating\n" +
			"the command with the same batch prints the same codes and makes none twice, so repeat a run that\n" +
			"was interrupted; --from skips the codes that were printed already.",
	}
	var b actions.Batch
	c.Flags().StringVar(&b.Prefix, "prefix", "", "begins every code: 2 to 16 letters and digits (required)")
	c.Flags().IntVar(&b.Count, "count", 0, "how many, 1 to 1000000 (required)")
	c.Flags().IntVar(&b.From, "from", 0, "skip this many")
	c.Flags().IntVar(&b.Parallel, "parallel", 16, "writes in flight, 1 to 256")
	active := c.Flags().String("active-at", "", "when they can first be used, RFC 3339; default: at once")
	expires := c.Flags().String("expires-at", "", "when they expire, RFC 3339 (required)")
	payload := addPayloadFlag(c)
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		b.ID = args[0]
		if b.ActiveAt, err = arguments.Fixed("active-at", *active); err != nil {
			return err
		}

		if b.ExpiresAt, err = arguments.Fixed("expires-at", *expires); err != nil {
			return err
		}

		if b.Payload, err = payload(); err != nil {
			return err
		}

		return a.with(c, func(all *actions.Actions) error {
			out, made := bufio.NewWriter(c.OutOrStdout()), 0

			err := all.Bulk(c.Context(), b, func(code actions.BatchAction) error {
				if code.Made {
					made++
				}
				a.Progress.Print("%d of %s", code.Index+1, plural.Of(b.Count, "code"))

				// Codes are printed as they are made, so an interrupted run can go on with --from.
				if a.JSON {
					return terminal.PrintJSON(out, code)
				}
				_, err := fmt.Fprintln(out, string(code.Code))

				return err
			})
			// The codes that were made are printed also after an error.
			if err = errors.Join(err, out.Flush()); err == nil {
				fmt.Fprintf(c.ErrOrStderr(), "%s, %d of them new\n", plural.Of(b.Count-b.From, "code"), made)
			}

			return err
		})
	}

	return a.Long(c, "making the codes")
}
