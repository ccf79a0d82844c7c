package develop

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/textfile"
	"ratchet/server"
)

func replayCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "replay", Short: "Send recorded requests to the orders and report the state in which each order ended",
		Long: `Sends recorded histories as transition requests, from many goroutines and with
duplicates, and reports for each order the state in which it ended. Events of one order
are requested in the order of the file. Events that the definition does not allow are
listed with their verdict.

--requests takes JSON Lines: {"orderId":"o-1","event":"place"}, {"orderId":"o-1",
"event":"pay","requestId":"r-7"}, {"orderId":"o-1","event":"ship","transitionId":3}.
The event place takes "items" and "total" as well; a line without transitionId and
requestId gets a request id from its order and its position.
--orders takes orders.csv of the Olist data set (cmd/cli/olist).

Without --data and --endpoint-url it runs on a temporary embedded engine. Lines that
cannot be used are reported and skipped.`,
		Args: cobra.NoArgs,
	}
	orders := c.Flags().String("orders", "", "orders.csv of the Olist data set")
	requests := c.Flags().String("requests", "", "JSON Lines of requests; - reads standard input")
	parallel := c.Flags().Int("parallel", 64, "goroutines, 1 to 1024")
	duplicates := c.Flags().Int("duplicates", 50, "requests sent more than once, in percent, 0 to 100")
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case (*orders == "") == (*requests == ""):
			return exit.UsageError("replay takes one of --orders and --requests")
		case *parallel < 1 || *parallel > 1024:
			return exit.UsageError("parallel %d: 1 to 1024", *parallel)
		case *duplicates < 0 || *duplicates > 100:
			return exit.UsageError("duplicates %d: 0 to 100", *duplicates)
		}

		// Both readers fill the same feed.
		name, read := *orders, readOlist
		if *requests != "" {
			name, read = *requests, readRequests
		}

		input, err := arguments.OpenInput(name)
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		defer input.Close()

		b, clean, err := openScratch(c.Context(), s)
		if err != nil {
			return err
		}

		f := &replayFeed{orders: b.Orders, parallel: *parallel, duplicates: *duplicates, notes: c.ErrOrStderr()}
		s.Progress.Follow(f.progress)

		err = runReplay(c.Context(), b, f, func(ctx context.Context) error { return read(ctx, input, f) })
		if errors.Is(err, textfile.ErrFile) {
			err = exit.With(exit.Usage, err)
		}

		if err == nil {
			err = f.print(c.OutOrStdout(), s.JSON)
		}

		// The directory is removed also after an error.
		return errors.Join(err, clean())
	}

	return s.Long(c, "opening the data")
}

// openScratch opens the backend that the settings name, or a temporary data directory if
// they name none. It returns a function that closes the backend and removes the directory.
func openScratch(ctx context.Context, s *settings.Settings) (*server.Backend, func() error, error) {
	// The default data directory does not count: a replay must not mix its orders into a user's.
	if s.Flags.Changed("data") || s.Flags.Changed("endpoint-url") || os.Getenv("RATCHET_DATA") != "" || os.Getenv("RATCHET_ENDPOINT_URL") != "" {
		b, err := s.Open(ctx, server.Events{})
		if err != nil {
			return nil, nil, err
		}

		return b, b.Close, nil
	}

	cfg, log, err := s.Load()
	if err != nil {
		return nil, nil, err
	}

	if cfg.Data, err = os.MkdirTemp("", "ratchet-*"); err != nil {
		return nil, nil, err
	}

	b, err := server.Embed(cfg, log, server.Events{Failed: exit.EndProcess})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(cfg.Data))
	}

	// The backend is closed before its files are removed.
	clean := func() error { return errors.Join(b.Close(), os.RemoveAll(cfg.Data)) }
	if err := b.CreateTables(ctx); err != nil {
		return nil, nil, errors.Join(err, clean())
	}

	return b, clean, nil
}

// runReplay runs the feed and, on the embedded engine, the engine's timers.
func runReplay(ctx context.Context, b *server.Backend, f *replayFeed, read func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	if b.Engine != nil {
		group.Go(func() error { return b.Engine.Run(ctx) })
	}
	group.Go(func() error {
		// The feed ends the group: the engine's Run would go on.
		defer stop()
		return f.run(ctx, read)
	})

	return group.Wait()
}
