package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"ratchet/actions"
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
		if b.ActiveAt, err = fixed("active-at", *active); err != nil {
			return err
		}

		if b.ExpiresAt, err = fixed("expires-at", *expires); err != nil {
			return err
		}

		if b.Payload, err = payload(); err != nil {
			return err
		}

		return a.with(c, func(all *actions.Actions) error {
			out := bufio.NewWriter(c.OutOrStdout())
			report, finish := bulkProgress(c.ErrOrStderr(), b)
			err := all.Bulk(c.Context(), b, func(code actions.BatchAction) error {
				report(code)

				if a.json {
					return printJSON(out, code)
				}
				_, err := fmt.Fprintln(out, string(code.Code))

				return err
			})
			finish(err == nil)

			return errors.Join(err, out.Flush())
		})
	}

	return c
}

// bulkProgress returns functions that report one code and the end. On a terminal they draw
// a bar, elsewhere they print a line every two seconds.
func bulkProgress(w io.Writer, b actions.Batch) (report func(actions.BatchAction), finish func(done bool)) {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		bars := mpb.New(mpb.WithOutput(w), mpb.WithWidth(40))
		bar := bars.AddBar(int64(b.Count), mpb.PrependDecorators(decor.CountersNoUnit("%d of %d codes ")))
		bar.SetCurrent(int64(b.From))

		return func(actions.BatchAction) { bar.Increment() }, func(done bool) {
			if !done {
				bar.Abort(false)
			}
			bars.Wait()
		}
	}

	made, lines := 0, newProgress(w)
	report = func(code actions.BatchAction) {
		if code.Made {
			made++
		}

		lines.print("%d of %d codes", code.Index+1, b.Count)
	}
	finish = func(done bool) {
		if done {
			fmt.Fprintf(w, "%d codes, %d of them new\n", b.Count-b.From, made)
		}
	}

	return report, finish
}
