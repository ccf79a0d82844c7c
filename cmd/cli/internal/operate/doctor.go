package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/internal/plural"
	"ratchet/operate/doctor"
	"ratchet/server"
)

const doctorHelp = `Compares what is set up with what this program needs under the same settings: credentials,
endpoints, the clock, every table (key, indexes, stream, time to live, billing, and on AWS
backups), the permissions on their items, on AWS the alarms, the state machine (against the one that this
program would create), its activities, the requests' queue, the readers of the stream, the
states of the first 1,000 orders, and settings that contradict each other. For each problem
it says what to do.

It creates and changes nothing. On AWS it asks IAM which permissions the policies give
(iam:SimulatePrincipalPolicy). Without that, and elsewhere, it tries them: permissions to write
with writes whose condition cannot hold, about one capacity unit for each table and operation.
--only checks the permissions of some parts: a worker's are activities, stream, requests,
notifications and sweeps.

With --json it prints one check in a line: subject, result (ok, warning, failure,
unchecked), found, action.`

func doctorCommand(s *settings.Settings) *cobra.Command {
	var parts []string

	c := &cobra.Command{
		Use: "doctor", Short: "Find what is set up wrongly, and say what to do about it", Args: cobra.NoArgs,
		Long:    doctorHelp,
		Example: "  ratchet doctor\n  ratchet doctor --only stream,notifications\n  ratchet doctor --json | jq -c 'select(.result != \"ok\")'",
		RunE: func(c *cobra.Command, _ []string) error {
			// Checked before anything is opened, so that a typo ends at once.
			known := server.PermissionParts()
			for _, part := range parts {
				if !slices.Contains(known, part) {
					return exit.UsageError("only %q: must be one of %s", part, strings.Join(known, ", "))
				}
			}

			checks, err := examine(c.Context(), s, parts)
			if err != nil {
				return err
			}

			if err := printChecks(c.OutOrStdout(), s.JSON, checks); err != nil {
				return err
			}

			if doctor.Has(checks, doctor.Failure) {
				return exit.With(exit.Failure, nil)
			}

			return nil
		},
	}
	c.Flags().StringSliceVar(&parts, "only", nil, "check the permissions of these parts only: "+strings.Join(server.PermissionParts(), ", ")+"; default: all that the settings use")

	return s.Long(c, "checking what is set up")
}

// examine connects to the backend without creating anything, and makes the checks.
func examine(ctx context.Context, s *settings.Settings, parts []string) (checks []doctor.Check, err error) {
	cfg, log, err := s.Load()
	if err != nil {
		return nil, err
	}

	// Not s.open: that would create the tables whose absence is a finding.
	b, err := s.ConnectWithWait(ctx, cfg, log, server.Events{})

	switch {
	case errors.Is(err, exit.ErrNotFound):
		return []doctor.Check{doctor.NewFailure("data directory", err.Error(),
			"`ratchet init` or `ratchet dev` creates it; set data, endpoint-url or AWS_REGION if the installation is elsewhere")}, nil
	case errors.Is(err, server.ErrDefinition), errors.Is(err, server.ErrStateMachine):
		return nil, err // the user's file is wrong, not the installation
	case err != nil:
		return []doctor.Check{doctor.NewFailure("connection", err.Error(), "mend the settings that it names; AWS_PROFILE, AWS_REGION and the SDK's files count, too")}, nil
	}
	defer func() { err = errors.Join(err, b.Close()) }()

	return b.Examine(ctx, parts...), nil
}

// printChecks prints the checks, and how many have each result.
func printChecks(out io.Writer, asJSON bool, checks []doctor.Check) error {
	for _, c := range checks {
		if asJSON {
			if err := terminal.PrintJSON(out, c); err != nil {
				return err
			}

			continue
		}

		if c.Result == doctor.OK {
			fmt.Fprintf(out, "ok: %s%s\n", c.Subject, detail(c.Found))
			continue
		}

		fmt.Fprintf(out, "! %s: %s%s\n  -> %s\n", c.Result, c.Subject, detail(c.Found), c.Action)
	}

	if asJSON {
		return nil
	}

	_, err := fmt.Fprintf(out, "\n%s: %s, %s, %d could not be made\n",
		plural.Of(len(checks), "check"), plural.Of(doctor.Count(checks, doctor.Failure), "failure"),
		plural.Of(doctor.Count(checks, doctor.Warning), "warning"), doctor.Count(checks, doctor.Unchecked))

	return err
}

func detail(found string) string {
	if found == "" {
		return ""
	}

	return ": " + found
}
