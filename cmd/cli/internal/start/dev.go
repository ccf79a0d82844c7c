package start

import (
	"errors"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/server"
)

func devCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "dev", Short: "Run everything in one process: engine, worker, HTTP API",
		Long: "Runs the embedded engine over --data and one worker until interrupted, and the sandbox carrier\n" +
			"if neither the settings nor the program name another one. Serves the engine on\n" +
			"--listen to the AWS CLI, any SDK and other ratchet commands, and the HTTP API on --api-listen\n" +
			"to every process on this machine, without authentication. The data stays in --data.",
		Args: cobra.NoArgs,
	}
	c.Flags().String("listen", server.DefaultListen, "HOST:PORT on loopback; port 0 selects a free port")
	c.Flags().String("api-listen", server.DefaultAPIListen, "HOST:PORT of the HTTP API on loopback; a free port if only --listen is set")
	c.Flags().Bool("fault-admin", false, "let callers with the token of --data inject faults into the engine, for tests (see docs/guides/engine.md)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, log, err := s.Load()
		if err != nil {
			return err
		}

		if err := listenFlags(c, &cfg); err != nil {
			return err
		}

		// The default port of the API may belong to another `dev`, which is why --listen was given.
		if c.Flags().Changed("listen") && cfg.API.Listen == server.DefaultAPIListen && !c.Flags().Changed("api-listen") {
			cfg.API.Listen = "127.0.0.1:0"
		}

		if err := checkAPIListen(&cfg, true); err != nil {
			return exit.With(exit.Usage, err)
		}

		// Checked before the engine opens: a workflow that does not fit leaves no directory behind.
		if err := s.CheckWorkflow(); err != nil {
			return err
		}

		b, err := server.Embed(cfg, log, server.Events{Failed: exit.EndProcess})
		if err != nil {
			return err
		}

		return errors.Join(runEmbedded(c.Context(), c.OutOrStdout(), b, "dev", s.JSON), b.Close())
	}

	return c
}
