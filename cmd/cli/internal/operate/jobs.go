package operate

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ratchet/api/auth"
	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/jobrun"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/operate/jobs"
	"ratchet/server"
)

const jobsHelp = `Jobs do one act to many things: they redrive executions, redrive or discard dead letters, resend
deliveries, erase or migrate orders, deliver changes again, or rebuild lists. A worker runs them (part jobs): it selects the things, and acts on one
after the other, in the order of each order. A job that is interrupted goes on where it was, also in
another worker, and does nothing twice.

One job of a kind is open at a time, for each tenant. A job must end within 14 days.`

func jobsCommand(s *settings.Settings) *cobra.Command {
	c := settings.Group("jobs", "Do one act to many things: start, watch, pause and stop jobs",
		jobsStart(s), jobsList(s), jobsShow(s),
		jobChange(s, "pause", "Pause a job", "The act that runs ends as usual. `ratchet jobs resume` lets the job go on.", (*jobs.Store).Pause),
		jobChange(s, "resume", "Let a paused job go on", "A worker takes it within some seconds. With --here the command follows it to its end, and runs it without workers.", (*jobs.Store).Resume),
		jobChange(s, "stop", "Stop a job for good", "What it has done stays done. The act that runs ends as usual.", (*jobs.Store).Stop))
	c.Long = jobsHelp

	return c
}

const jobsStartHelp = `Stores a job, which a worker takes within some seconds, and prints it. KIND is one of:

  executions-redrive    failed executions: all, or by --error, --since and --until
  dead-letters-redrive  dead letters of --handler: all, or by --error, --since and --until
  dead-letters-discard  the same, discarded for good
  deliveries-resend     what --endpoint has missed: all, or since --since
  orders-erase          persons of orders that ended before --ended-before
  streams-replay        changes of orders, to --handler or all handlers, since --since (of their journals)
  streams-refill        the same, but only what a handler has not got: after a gap of the stream
  lists-rebuild         the lists of orders, part by part
  orders-migrate        by ` + "`ratchet workflow migrate`" + `, which stores mapping and definitions with the job

With ids instead, it acts on those: ids of orders, dead letters (with --handler) or deliveries, at most 1,000.
--dry-run only counts what the job would act on, by reason, with a sample. --here follows the job to its end,
and runs it where there are no workers; Ctrl-C pauses it then.`

func jobsStart(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "start KIND [ID...]", Short: "Do one act to many things", Args: cobra.MinimumNArgs(1), Long: jobsStartHelp,
		Example: "  ratchet jobs start executions-redrive --error Order.Unavailable --since 2h --dry-run --reason 'the bank was down'\n" +
			"  ratchet jobs start dead-letters-redrive --handler notify --here --reason 'the bank is up again'",
	}

	var n jobs.New

	f := c.Flags()
	f.StringVar(&n.Filter.Handler, "handler", "", "the handler whose dead letters they are, or that gets changes again")
	f.StringVar(&n.Filter.Endpoint, "endpoint", "", "the endpoint that has missed the deliveries")
	f.StringVar(&n.Filter.Error, "error", "", "an error name of executions, or a text in the error of dead letters")
	f.BoolVar(&n.Again, "again", false, "streams-replay: also repeat effects that have happened")
	f.BoolVar(&n.DryRun, "dry-run", false, "only count what it would act on")
	f.IntVar(&n.Rate, "rate", 10, "acts per second, 1 to 1000")
	f.StringVar(&n.Reason, "reason", "", "why, in up to 160 bytes; required")
	since := f.String("since", "", "only what has failed, was missed or has changed at or after this time, or this long ago (like 2h)")
	until := f.String("until", "", "only what has failed before this time, in the same forms")
	endedBefore := f.String("ended-before", "", "only orders that ended before this time, or this long ago (like 400d)")
	tenant := f.String("tenant", string(auth.DefaultTenant), "the tenant whose orders they are")
	here := f.Bool("here", false, "run the job in this command")

	c.RunE = func(c *cobra.Command, args []string) (err error) {
		n.Kind, n.IDs, n.By, n.Tenant = jobs.Kind(args[0]), args[1:], "cli:"+arguments.UserName(), arguments.OwnerOf(*tenant)

		if n.Filter.Since, err = arguments.PointInTime("since", *since); err != nil {
			return err
		}

		if n.Filter.Until, err = arguments.PointInTime("until", *until); err != nil {
			return err
		}

		if n.Filter.EndedBefore, err = arguments.PointInTime("ended-before", *endedBefore); err != nil {
			return err
		}

		if err := auth.Tenant(*tenant).Validate(); err != nil {
			return exit.UsageError("%v", err)
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			if n.Filter.Handler != "" {
				if _, err := handlerNamed(b, n.Filter.Handler); err != nil {
					return err
				}
			}

			j, err := b.Jobs.Create(c.Context(), n)
			if err == nil && *here {
				return runHere(c, s, b, j)
			}

			return showJob(c.OutOrStdout(), s.JSON, j, err)
		})
	}

	return s.Long(c, "running the job")
}

// runHere follows the job until it ends, and runs it if there is no worker. Ctrl-C pauses it.
func runHere(c *cobra.Command, s *settings.Settings, b *server.Backend, j jobs.Job) error {
	j, err := jobrun.Follow(c, s, b, j)
	if errors.Is(err, jobs.ErrElsewhere) {
		return err
	}

	return errors.Join(showJob(c.OutOrStdout(), s.JSON, j, nil), err)
}

func jobsList(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List jobs, newest first", Args: cobra.NoArgs,
		Example: "  ratchet jobs list --limit 5",
	}
	limit := arguments.LimitFlag(c.Flags(), 20, 1_000, "at most this many")
	tenant := c.Flags().String("tenant", string(auth.DefaultTenant), "the tenant whose jobs they are")
	after := c.Flags().String("after", "", "continue after this job")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return s.With(c.Context(), func(b *server.Backend) error {
			found, next, err := b.Jobs.List(c.Context(), arguments.OwnerOf(*tenant), *after, *limit)
			if err != nil {
				return err
			}

			if s.JSON {
				err = terminal.PrintLines(c.OutOrStdout(), found)
			} else {
				for _, j := range found {
					if _, err = fmt.Fprintln(c.OutOrStdout(), jobrun.Line(j)); err != nil {
						return err
					}
				}
			}

			return terminal.PrintMore(c.ErrOrStderr(), next, err)
		})
	}

	return c
}

func jobsShow(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "get JOB", SuggestFor: []string{"show"}, Short: "Show a job, its progress and its results", Args: cobra.ExactArgs(1),
		Long: "Shows a job: its state, how many things have a result, and the results by code. A dry run has a sample.",
	}
	tenant := c.Flags().String("tenant", string(auth.DefaultTenant), "the tenant whose job it is")
	c.RunE = func(c *cobra.Command, args []string) error {
		return s.With(c.Context(), func(b *server.Backend) error {
			j, err := b.Jobs.Get(c.Context(), arguments.OwnerOf(*tenant), args[0])

			return showJob(c.OutOrStdout(), s.JSON, j, err)
		})
	}

	return c
}

func jobChange(s *settings.Settings, verb, short, long string, change func(*jobs.Store, context.Context, string, string) (jobs.Job, error)) *cobra.Command {
	c := &cobra.Command{
		Use: verb + " JOB", Short: short, Args: cobra.ExactArgs(1),
		Long: long,
	}
	tenant := c.Flags().String("tenant", string(auth.DefaultTenant), "the tenant whose job it is")

	here := new(bool)
	if verb == "resume" {
		c.Flags().BoolVar(here, "here", false, "follow the job to its end, and run it in this command if no worker does")
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return s.With(c.Context(), func(b *server.Backend) error {
			j, err := change(b.Jobs, c.Context(), arguments.OwnerOf(*tenant), args[0])
			if err == nil && *here {
				return runHere(c, s, b, j)
			}

			return showJob(c.OutOrStdout(), s.JSON, j, err)
		})
	}

	return c
}

// showJob prints a job, unless there is an error.
func showJob(out io.Writer, asJSON bool, j jobs.Job, err error) error {
	if err != nil {
		return err
	}

	return jobrun.Print(out, asJSON, j)
}
