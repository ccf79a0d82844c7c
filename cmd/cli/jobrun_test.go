package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/jobrun"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/operate/jobs"
	"ratchet/server"
	"ratchet/server/ratchettest"
	"ratchet/transitions"
)

// desk is a command that acts on many orders, over a server.
type desk struct {
	t   *testing.T
	env *ratchettest.Env
	out bytes.Buffer
}

func newDesk(t *testing.T, cfg ratchettest.Config) *desk {
	t.Helper()

	d := &desk{t: t, env: ratchettest.Start(t, cfg)}
	for n := range 5 {
		d.env.Place(ratchettest.NewOrder(transitions.OrderID(fmt.Sprintf("o-%d", n)), "mug"))
	}

	return d
}

// run runs the command, and returns its exit status.
func (d *desk) run(ctx context.Context, rate string) int {
	d.t.Helper()

	c := &cobra.Command{Use: "replay", SilenceErrors: true, SilenceUsage: true}
	flags := jobrun.AddFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		n := jobs.New{Kind: jobs.ReplayStream, Filter: jobs.Filter{Handler: "notify"}}

		return flags.All(c, settings.New(server.Parts{}), d.env.Backend, n, "order", "queued")
	}
	c.SetArgs([]string{"--rate", rate, "--job-reason", "the shop has lost them"})
	c.SetOut(&d.out)
	c.SetErr(io.Discard) // on a busy machine it gets the progress, too

	err := c.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(&d.out, err)
	}

	return exit.StatusOf(err)
}

// job returns the newest job.
func (d *desk) job() (j jobs.Job, found bool) {
	all, _, err := d.env.Backend.Jobs.List(context.WithoutCancel(d.t.Context()), "", "", 1)
	if err != nil || len(all) == 0 {
		return j, false
	}

	return all[0], true
}

// watch calls seen with the newest job again and again until stop is called.
func (d *desk) watch(seen func(jobs.Job)) (stop func()) {
	ctx, cancel := context.WithCancel(d.t.Context())

	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			if j, found := d.job(); found {
				seen(j)
			}

			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
	})

	return func() {
		cancel()
		group.Wait()
	}
}

// TestAJobOfACommandIsRunByAWorkerOrByTheCommand: by the worker if there is one.
func TestAJobOfACommandIsRunByAWorkerOrByTheCommand(t *testing.T) {
	for who, here := range map[string]bool{"a worker": false, "the command": true} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()

			d := newDesk(t, ratchettest.Config{NoWorker: here})
			if !here {
				d.env.Wait("the first sign of life of the worker", func() (bool, string, error) {
					all, err := d.env.Backend.Processes.Check(t.Context())

					return slices.ContainsFunc(all, server.RunsJobs), fmt.Sprint(all), err
				})
			}
			owners := map[string]bool{}
			stop := d.watch(func(j jobs.Job) {
				if j.Owner != "" {
					owners[j.Owner] = true
				}
			})

			status := d.run(t.Context(), "5")
			stop()

			if status != exit.OK || !strings.HasPrefix(d.out.String(), "queued: 5 orders (job ") || len(owners) != 1 {
				t.Errorf("exit status %d, owners %v\n%s", status, owners, &d.out)
			}

			for owner := range owners {
				if strings.HasPrefix(owner, "cli:") != here {
					t.Errorf("it was run by %s", owner)
				}
			}

			if j, _ := d.job(); j.Reason != "the shop has lost them" || !strings.HasPrefix(j.By, "cli:") {
				t.Errorf("the job: %+v", j)
			}
		})
	}
}

// TestCtrlCPausesTheJobOfACommand: the exit status says so, the text says how to go on, and nothing is done twice.
func TestCtrlCPausesTheJobOfACommand(t *testing.T) {
	d := newDesk(t, ratchettest.Config{NoWorker: true})
	ctx, interrupt := context.WithCancel(t.Context())
	stop := d.watch(func(j jobs.Job) {
		if j.Results() > 0 {
			interrupt()
		}
	})
	status := d.run(ctx, "5")
	stop()

	j, _ := d.job()
	if status != exit.Paused || j.State != jobs.Paused || j.Results() == 5 || !strings.Contains(d.out.String(), "`ratchet jobs resume "+j.ID+"`") {
		t.Fatalf("exit status %d, job %+v\n%s", status, j, &d.out)
	}
	before := j.Results()

	if _, err := d.env.Backend.Jobs.Resume(t.Context(), "", j.ID); err != nil {
		t.Fatal(err)
	}

	c := &cobra.Command{}
	c.SetContext(t.Context())

	j, err := jobrun.Follow(c, settings.New(server.Parts{}), d.env.Backend, j)
	if err != nil || j.State != jobs.Done || j.Results() != 5 || before == 0 {
		t.Errorf("resumed after %d: %+v, %v", before, j, err)
	}
}

// TestASecondJobOfTheKindIsNotBegun: the answer names the open job.
func TestASecondJobOfTheKindIsNotBegun(t *testing.T) {
	d := newDesk(t, ratchettest.Config{NoWorker: true})

	open, err := d.env.Backend.Jobs.Create(t.Context(), jobs.New{Kind: jobs.ReplayStream, Filter: jobs.Filter{Handler: "notify"}, By: "cli:ann", Reason: "test"})
	if err != nil {
		t.Fatal(err)
	}

	if status := d.run(t.Context(), "5"); status != exit.Refused || !strings.Contains(d.out.String(), open.ID) {
		t.Errorf("exit status %d\n%s", status, &d.out)
	}
}
