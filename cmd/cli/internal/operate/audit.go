package operate

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/operate/audit"
	"ratchet/server"
)

func auditCommand(s *settings.Settings) *cobra.Command {
	return settings.Group("audit", "What people did, through the command line and the API", auditList(s))
}

func auditList(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List acts by time: who did what, on what, with which result", Args: cobra.NoArgs,
		Long: `Lists the commands that change something and the requests to the API's administrative routes,
oldest first. Each act has one row, which is written before it is done and gets its result
afterwards. BEGUN means that there is no result: it runs, or its process died. REFUSED changed
nothing, FAILED may have changed something.

Rows are kept for the setting audit-retention, 400 days by default.`,
		Example: "  ratchet audit list --since 24h\n" +
			"  ratchet audit list --since 2026-11-01T00:00:00Z --on o-1 --json | jq -r '[.at, .who, .act] | @tsv'\n" +
			"  ratchet audit list --since 720h --who cli:ann --begun",
	}
	since := c.Flags().String("since", "168h", "from this time on: a duration like 24h, or RFC 3339")
	until := c.Flags().String("until", "", "before this time; default: now")
	f := audit.Filter{}
	c.Flags().StringVar(&f.Who, "who", "", "only acts of this `person` or key, as cli:ann or key:5xprx62f523x4pcr")
	c.Flags().StringVar(&f.Act, "act", "", "only this `act`: a command, as orders apply, or an operation of the API, as disable-endpoint")
	c.Flags().StringVar(&f.On, "on", "", "only acts on this, such as an order's id or a part of it")
	c.Flags().BoolVar(&f.Begun, "begun", false, "only acts without a result")
	after := c.Flags().String("after", "", "continue after this act")
	limit := arguments.LimitFlag(c.Flags(), 100, 1_000, "at most this many")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if err := arguments.Given(c.Flags(), "since", "who", "act", "on", "after"); err != nil {
			return err
		}

		// Read at each call, so that a duration counts from the moment of the call.
		if f.Since, err = arguments.PointInTime("since", *since); err != nil {
			return err
		}

		if f.Until, err = arguments.PointInTime("until", *until); err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			found, next, err := listActs(c, b.Audit, f, *after, *limit)
			if err != nil {
				return err
			}

			return terminal.PrintMore(c.ErrOrStderr(), next, printActs(c.OutOrStdout(), s.JSON, found))
		})
	}

	return s.Long(c, "reading acts")
}

// listActs lists as many acts as the limit allows. It takes several calls, because a page may be
// short.
func listActs(c *cobra.Command, log *audit.Log, f audit.Filter, after string, limit int) (found []audit.Entry, next string, err error) {
	for next = after; ; {
		page, more, err := log.List(c.Context(), f, next, limit-len(found))
		if err != nil {
			return nil, "", err
		}

		found = append(found, page...)
		// An empty page with a cursor is not the end: none of the acts that were read passed the filter.
		if next = more; next == "" || len(found) >= limit {
			return found, next, nil
		}
	}
}

func printActs(out io.Writer, asJSON bool, all []audit.Entry) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "AT\tWHO\tACT\tON\tRESULT\tREASON")
	}

	for _, e := range all {
		if asJSON {
			if err := terminal.PrintJSON(out, e); err != nil {
				return err
			}
			continue
		}

		result := string(e.Result)
		if e.Code != "" {
			result += " (" + e.Code + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.At.Format(time.RFC3339), terminal.OrDash(e.Who), e.Act, terminal.OrDash(terminal.OneLine(e.On)), result, terminal.OrDash(terminal.OneLine(e.Reason)))
	}

	return w.Flush()
}
