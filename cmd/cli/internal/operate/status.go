package operate

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/internal/worker"
	"ratchet/operate/inspect"
	"ratchet/operate/processes"
	"ratchet/server"
)

const statusHelp = `Shows the processes and what each does, the lag of the orders' stream, dead letters, deliveries
that wait or were missed, disabled endpoints, the stuck orders that a worker has counted last,
and how much of the account's quotas is used, each that needs a person with what to do.

A process writes a heartbeat every ten seconds. It is missing if it gives no sign of life and
was not stopped; the command looks for up to 12 seconds before it says so. Rates are those of
the last minute. Quotas are the defaults of the Region (docs/operate/operations.md), and only shown
on AWS.

Stuck orders are counted by the workers every --stuck-every, because that reads all orders.
--count-stuck counts them now.`

func statusCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "status", Short: "Show what runs where, what is behind or stuck, and what to do about it", Long: statusHelp, Args: cobra.NoArgs,
		Example: "  ratchet status\n  ratchet status --watch 30s\n  ratchet status --json | jq -r '.problems[].text'",
	}
	every := c.Flags().Duration("watch", 0, "show it again this often, until interrupted; at least 1s")
	count := c.Flags().Bool("count-stuck", false, "count the stuck orders first, which reads all orders")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed("watch") && *every < time.Second {
			return exit.UsageError("watch %s: at least 1s", *every)
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			for {
				well, err := showStatus(c, s, b, *count)

				switch {
				// The interrupt may come while the status is read.
				case *every > 0 && c.Context().Err() != nil:
					return nil // interrupted, as the help says
				case err != nil:
					return err
				case *every > 0:
					if !worker.Wait(c.Context(), *every) {
						return nil
					}
				// With --watch the exit status says nothing: it ends by an interrupt.
				case !well:
					return exit.With(exit.Failure, nil)
				default:
					return nil
				}
			}
		})
	}

	return s.Long(c, "asking what runs")
}

// showStatus prints the status and reports whether all is well.
func showStatus(c *cobra.Command, s *settings.Settings, b *server.Backend, count bool) (well bool, err error) {
	s.Progress.Print("asking what runs")
	// The progress must not stay during the next output or the pause of --watch.
	defer s.Progress.Hide()

	if count {
		// The count has no bound, however large the table is: a person has asked for it.
		if _, err := b.CountStuck(c.Context(), false); err != nil {
			return false, err
		}
	}

	status, err := b.Status(c.Context())
	if err != nil {
		return false, err
	}

	if s.JSON {
		return status.OK, terminal.PrintJSON(c.OutOrStdout(), status)
	}

	return status.OK, printStatus(c.OutOrStdout(), status)
}

func printStatus(out io.Writer, s inspect.SystemStatus) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROCESS\tHOST\tPARTS\tVERSION\tSTATE\tSINCE\tLAST BEAT\tTRANSITIONS/S")

	for i, name := range processes.Names(s.Processes) {
		p := s.Processes[i]

		state := string(p.State)
		// A process can beat and still not be ready.
		if p.State == processes.Live && !p.Ready {
			state = "not ready"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", terminal.OrDash(name), terminal.OrDash(p.Host), strings.Join(p.Parts, ","), p.Version, state,
			ago(p.StartedAt, s.At), ago(p.BeatAt, s.At), number(p.Rates["transitions"]))
	}

	// Flushed here: the lines below do not belong to the table.
	err := w.Flush()
	fmt.Fprintf(out, "\nstream: %s, %s behind, %s; read by %s\n", s.Stream.State,
		(time.Duration(s.Stream.Seconds) * time.Second).String(), records(s.Stream.Records, s.Stream.More), terminal.OrDash(strings.Join(s.Stream.Workers, ", ")))

	waiting, letters := 0, 0
	for _, h := range s.Handlers {
		waiting += h.Waiting
		letters += h.DeadLetters

		if !h.PausedAt.IsZero() {
			fmt.Fprintf(out, "handler %s is paused since %s (`ratchet streams resume %[1]s`)\n", h.Name, terminal.Stamp(h.PausedAt))
		}
	}
	fmt.Fprintf(out, "retry queues: %s; dead letters: %d\n", plural.Of(waiting, "record"), letters)

	pending, missed, more := 0, 0, false
	for _, e := range s.Endpoints {
		pending += e.Pending
		missed += e.Missed
		// A bound reached at one endpoint makes the sums lower bounds.
		more = more || e.More
	}
	fmt.Fprintf(out, "notifications: %s under way, %s missed, at %s\n", count(pending, more), count(missed, more), plural.Of(len(s.Endpoints), "endpoint"))
	fmt.Fprintf(out, "stuck orders: %s\n", describeSurvey(s.Stuck))

	if len(s.Rates) > 0 {
		fmt.Fprintln(out, "per second: "+describeRates(s.Rates))
	}

	return errors.Join(err, printQuotas(out, s.Quotas), printProblems(out, s))
}

// printQuotas prints how much of each quota is used, and where the quotas come from.
func printQuotas(out io.Writer, quotas []inspect.QuotaUse) error {
	if len(quotas) == 0 {
		return nil
	}

	var sources []string

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nQUOTA\tOF\tUSED/S\tALLOWED/S\tPERCENT")

	for _, q := range quotas {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.0f\t%.1f\n", q.Name, q.Of, number(q.Used), q.Quota, q.Percent)

		if !slices.Contains(sources, q.Source) {
			sources = append(sources, q.Source)
		}
	}

	if err := w.Flush(); err != nil {
		return err
	}

	_, err := fmt.Fprintln(out, "defaults of the Region, from "+strings.Join(sources, ", "))

	return err
}

func printProblems(out io.Writer, s inspect.SystemStatus) error {
	if s.OK {
		_, err := fmt.Fprintln(out, "\nall is well")
		return err
	}
	fmt.Fprintln(out)

	for _, p := range s.Problems {
		if _, err := fmt.Fprintf(out, "! %s: %s\n  -> %s\n", p.Area, p.Text, p.Action); err != nil {
			return err
		}
	}

	return nil
}

func describeSurvey(survey *processes.Survey) string {
	switch {
	case survey == nil:
		return "not counted yet (`ratchet status --count-stuck` counts them)"
	case survey.Skipped != "":
		return "not counted: " + survey.Skipped
	}

	return fmt.Sprintf("%d of %s at %s", survey.Total(), plural.Of(survey.Orders, "order"), terminal.Stamp(survey.At))
}

func describeRates(rates map[string]float64) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(rates)) {
		all = append(all, name+" "+number(rates[name]))
	}

	return strings.Join(all, ", ")
}

// number formats a rate with up to two digits.
func number(rate float64) string { return strings.TrimSuffix(fmt.Sprintf("%.2f", rate), ".00") }
