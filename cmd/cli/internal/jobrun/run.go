package jobrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/api/auth"
	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/internal/dynamo"
	"ratchet/internal/plural"
	"ratchet/internal/worker"
	"ratchet/operate/audit"
	"ratchet/operate/jobs"
	"ratchet/server"
)

// Flags are the flags of commands that act on many subjects by a job.
type Flags struct {
	reason string
	rate   int
}

// AddFlags adds the flags to a command.
func AddFlags(c *cobra.Command) *Flags {
	f := &Flags{}
	c.Flags().StringVar(&f.reason, "job-reason", "", "why, in up to 160 bytes, for the job and the list of acts; default: the command")
	c.Flags().IntVar(&f.rate, "rate", 100, "acts per second of the job, 1 to 1000")

	return f
}

// Check reports a rate that a job cannot have.
func (f *Flags) Check() error {
	if f.rate < 1 || f.rate > 1000 {
		return exit.UsageError("rate %d: 1 to 1000", f.rate)
	}

	return nil
}

// Run stores the job and follows it to its end. See [Follow].
func (f *Flags) Run(c *cobra.Command, s *settings.Settings, b *server.Backend, n jobs.New) (jobs.Job, error) {
	n.Rate, n.By = f.rate, "cli:"+arguments.UserName()
	n.Reason = dynamo.Cut(cmp.Or(n.Reason, f.reason, c.CommandPath()), audit.MaxText)

	j, err := b.Jobs.Create(c.Context(), n)
	if err != nil {
		return j, err
	}

	return Follow(c, s, b, j)
}

// patience is how long a worker that runs has time to take the job. It looks for jobs every 5 seconds.
const patience = 15 * time.Second

// Follow shows the progress of a job until it has ended. A worker runs it; without one, or if none takes it, this
// command does. If the command is interrupted, the job is paused, and the error has the status [exit.Paused] and says
// how to go on.
func Follow(c *cobra.Command, s *settings.Settings, b *server.Backend, j jobs.Job) (jobs.Job, error) {
	runner, err := b.JobRunner("cli:" + arguments.UserName())
	if err != nil {
		return j, err
	}

	stop := watch(c.Context(), s, b, j)
	defer stop()

	if err := leave(c.Context(), b, j); err != nil {
		return j, err
	}

	// It also follows a job that a worker has.
	j, err = runner.RunOne(c.Context(), j.Tenant, j.ID)
	if err != nil {
		return j, err
	}

	return j, ended(j)
}

// leave gives workers the time to take the job, if there are any.
func leave(ctx context.Context, b *server.Backend, j jobs.Job) error {
	all, err := b.Processes.Check(ctx)
	if err != nil {
		return err
	}

	if !slices.ContainsFunc(all, server.RunsJobs) {
		return nil
	}

	for until := time.Now().Add(patience); time.Now().Before(until) && worker.Wait(ctx, lookEach); {
		now, err := b.Jobs.Get(ctx, j.Tenant, j.ID)
		if err != nil || now.State != jobs.Waiting {
			return err
		}
	}

	return nil
}

const lookEach = 300 * time.Millisecond

// watch keeps the command's progress at that of the job.
func watch(ctx context.Context, s *settings.Settings, b *server.Backend, j jobs.Job) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})

	go func() {
		defer close(done)

		for worker.Wait(ctx, time.Second) {
			if now, err := b.Jobs.Get(ctx, j.Tenant, j.ID); err == nil {
				s.Progress.Print("job %s: %s", now.ID, progress(now))
			}
		}
	}()

	return func() {
		cancel()
		<-done
	}
}

func progress(j jobs.Job) string {
	if !j.Selected {
		return fmt.Sprintf("%d selected so far", j.Total)
	}

	return fmt.Sprintf("%d of %d done", j.Results(), j.Total)
}

// ended returns an error with the exit status of a job that is not done.
func ended(j jobs.Job) error {
	tenant := ""
	if j.Tenant != "" {
		tenant = " --tenant " + string(auth.Tenant(j.Tenant))
	}

	switch {
	case j.State == jobs.Done:
		return nil
	case j.State == jobs.Paused && j.Problem == "" || j.Wanted == jobs.Paused:
		return exit.With(exit.Paused, fmt.Errorf("job %s is paused at %s; `ratchet jobs resume %s%s` goes on (with --here in that command)", j.ID, progress(j), j.ID, tenant))
	case j.State == jobs.Paused:
		return exit.With(exit.Failure, fmt.Errorf("job %s has paused itself (%s) at %s; remove the cause, then `ratchet jobs resume %s%s`", j.ID, j.Problem, progress(j), j.ID, tenant))
	case j.Problem != "":
		return exit.With(exit.Failure, fmt.Errorf("job %s is %s: %s", j.ID, j.State, j.Problem))
	}

	return exit.With(exit.Failure, fmt.Errorf("job %s is %s at %s", j.ID, j.State, progress(j)))
}

// fine are the codes of subjects that needed no act, or got what there is.
var fine = []string{"done", "selected", "gone", "nothing_to_deliver", "changes_lost", "delivery_pending", "execution_healthy"}

// Results calls found for each subject of a job that has a result with the code, or for "" with any code but done.
func Results(ctx context.Context, b *server.Backend, j jobs.Job, code string, found func(jobs.Shown) error) error {
	for after := ""; ; {
		page, next, err := b.Jobs.Results(ctx, j, code, after, 1000)
		if err != nil {
			return err
		}

		for _, r := range page {
			if err := found(r); err != nil {
				return err
			}
		}

		if after = next; next == "" {
			return nil
		}
	}
}

// refused returns an error with the status [exit.Refused] if the job has not done all that it has selected.
func refused(j jobs.Job) error {
	var not []string
	for code, n := range j.Counts {
		if !slices.Contains(fine, code) {
			not = append(not, fmt.Sprintf("%d %s", n, code))
		}
	}

	if len(not) == 0 {
		return nil
	}
	slices.Sort(not)

	return exit.With(exit.Refused, errors.New("not done: "+strings.Join(not, ", ")))
}

// All runs a job and prints it, as commands do that have nothing else to say. The noun is what its subjects are.
func (f *Flags) All(c *cobra.Command, s *settings.Settings, b *server.Backend, n jobs.New, noun, done string) error {
	j, err := f.Run(c, s, b, n)
	if j.ID == "" {
		return err
	}

	if s.JSON {
		return errors.Join(Print(c.OutOrStdout(), true, j), err, refused(j))
	}

	if _, printed := fmt.Fprintf(c.OutOrStdout(), "%s: %s (job %s)\n", done, plural.Of(j.Counts["done"], noun), j.ID); printed != nil {
		return printed
	}

	listed := Results(context.WithoutCancel(c.Context()), b, j, "", func(r jobs.Shown) error {
		_, err := fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", r.Code, r.ID)

		return err
	})
	if err == nil {
		err = refused(j)
	}

	return errors.Join(err, listed)
}
