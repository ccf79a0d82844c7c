package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"ratchet/actions"
)

func actionsBulk(a *actionSettings) *cobra.Command {
	c := &cobra.Command{
		Use: "bulk BATCH", Short: "Make many actions with coupon codes, and print the codes", Args: cobra.ExactArgs(1),
		Long: "Makes the batch and prints its codes, one a line (with --json one object a line). The same batch\n" +
			"again prints the same codes and makes none twice, so a run that broke off is simply repeated;\n" +
			"--from passes over those that are printed already.",
	}
	var b actions.Batch
	c.Flags().StringVar(&b.Prefix, "prefix", "", "begins every code: 2 to 16 letters and digits (required)")
	c.Flags().IntVar(&b.Count, "count", 0, "how many, 1 to 1000000 (required)")
	c.Flags().IntVar(&b.From, "from", 0, "pass over this many")
	c.Flags().IntVar(&b.Parallel, "parallel", 16, "writes on their way at once, 1 to 256")
	active := c.Flags().String("active-at", "", "when they may first be used, RFC 3339; default: at once")
	expires := c.Flags().String("expires-at", "", "when they may no more, RFC 3339 (required)")
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
			told, finish := bulkProgress(c.ErrOrStderr(), b)
			err := all.Bulk(c.Context(), b, func(code actions.BatchAction) error {
				told(code)

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

// bulkProgress draws a bar on a terminal and writes a line every two seconds elsewhere.
func bulkProgress(w io.Writer, b actions.Batch) (told func(actions.BatchAction), finish func(done bool)) {
	made, last := 0, time.Now()

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

	return func(c actions.BatchAction) {
			if c.Made {
				made++
			}

			if time.Since(last) >= 2*time.Second {
				last = time.Now()
				fmt.Fprintf(w, "%d of %d codes\n", c.Index+1, b.Count)
			}
		}, func(done bool) {
			if done {
				fmt.Fprintf(w, "%d codes, %d of them new\n", b.Count-b.From, made)
			}
		}
}
