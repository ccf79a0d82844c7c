package develop

import (
	"context"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/once"
	"ratchet/server"
)

// shell is the operation under which claims of `claims run` are stored.
const shell = "shell/v1"

func claimsRun(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "run KEY -- COMMAND [ARG...]", Short: "Run a command once under a key, and print its output", Args: cobra.MinimumNArgs(2),
		Long: "Claims the key, runs the command, stores its output, and prints it. Later calls with the same key\n" +
			"and command print the stored output without running the command. The claim is extended while the\n" +
			"command runs. If the command fails, the key is released.",
	}
	wait := c.Flags().Duration("wait", 0, "how long to wait for another process that runs it")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *wait < 0 {
			return exit.UsageError("wait %s: must not be negative", *wait)
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			// The claim's heartbeat extends it while the command runs.
			claims, err := once.New(once.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Once, Operation: shell, Heartbeat: true})
			if err != nil {
				return err
			}
			// The zero byte keeps the arguments apart: `a b` and `a` `b` are different payloads.
			line := strings.Join(args[1:], "\x00")

			output, _, err := claims.Waiting(*wait).Do(c.Context(), args[0], []byte(line), func(ctx context.Context, _ *once.Claim) ([]byte, error) {
				command := exec.CommandContext(ctx, args[1], args[2:]...) //nolint:gosec // G204: its purpose is to run the user's command
				command.Stderr = os.Stderr
				return command.Output()
			})
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(output)

			return err
		})
	}

	return c
}
