package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/server"
)

// healthTimeout bounds the question to a process. The process itself takes up to two seconds to
// read its table.
const healthTimeout = 5 * time.Second

func healthCommand(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "health", Short: "Ask a running worker or server whether it is ready", Args: cobra.NoArgs,
		Long: `Asks the admin listener of a running ` + "`ratchet worker`, `serve` or `dev`" + ` and prints each check
that is not ok, with what to do about it. Without --url it asks the address of the setting
admin-listen, by default 127.0.0.1:8702. Each process prints its address when it starts.

A container's health check is ` + "`ratchet health --live`" + `: what is not ready (a backlog, an outage of AWS,
throttling) must not be restarted. Plain ` + "`ratchet health`" + ` is for load balancers and alarms.`,
		Example: "  ratchet health\n  ratchet health --url http://127.0.0.1:8702 --json | jq '.checks[] | select(.status != \"ok\")'",
	}
	url := c.Flags().String("url", "", "URL of the process; default: http:// and the setting admin-listen")
	wait := c.Flags().Duration("wait", 0, "ask again until the process is ready, for as long as this")
	live := c.Flags().Bool("live", false, "only ask whether the process answers: for the health check of a container")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := arguments.Given(c.Flags(), "url"); err != nil {
			return err
		}

		base, err := adminURL(s, *url)
		if err != nil {
			return err
		}

		path := "/readyz"
		if *live {
			path = "/livez"
		}

		if *wait < 0 {
			return exit.UsageError("wait %s: must not be negative", *wait)
		}

		// Without --wait the process is asked once.
		health, err := awaitHealth(c.Context(), base+path, *wait)
		if err != nil {
			return err
		}

		if s.JSON {
			err = terminal.PrintJSON(c.OutOrStdout(), health)
		} else {
			printHealth(c.OutOrStdout(), health)
		}

		// The answer is printed, so the error has only the exit status.
		if err == nil && !health.Ready {
			err = exit.With(exit.Failure, nil)
		}

		return err
	}

	return s.Long(c, "waiting until the process is ready")
}

// adminURL returns the URL to ask, without a slash at its end: the given URL, or the address of the
// setting admin-listen.
func adminURL(s *settings.Settings, given string) (string, error) {
	if given != "" {
		if !strings.HasPrefix(given, "http://") && !strings.HasPrefix(given, "https://") {
			return "", exit.UsageError("url %q: must begin with http:// or https://", given)
		}

		return strings.TrimSuffix(given, "/"), nil
	}

	cfg, _, err := s.Load()
	if err != nil {
		return "", err
	}

	switch cfg.AdminListen {
	case "":
		return "http://" + server.DefaultAdminListen, nil
	case server.AdminOff:
		return "", exit.UsageError(`admin-listen: is "off", so there is nothing to ask; name the process with --url`)
	}

	host, port, err := net.SplitHostPort(cfg.AdminListen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1" // the process listens on all addresses, and this machine reaches it by loopback
	}

	return "http://" + net.JoinHostPort(host, port), err
}

// awaitHealth asks a process until it is ready or the wait is over.
func awaitHealth(ctx context.Context, url string, wait time.Duration) (server.Health, error) {
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()

	for deadline := time.Now().Add(wait); ; {
		health, err := askHealth(ctx, url)
		// A process that starts refuses connections at first, so an error is asked again, too.
		if err == nil && health.Ready || !time.Now().Before(deadline) {
			return health, err
		}

		select {
		case <-ctx.Done():
			return health, ctx.Err()
		case <-again.C:
		}
	}
}

// askHealth asks a process. A process that is not ready answers 503, with the same body.
func askHealth(ctx context.Context, url string) (health server.Health, err error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return health, exit.UsageError("url: %w", err)
	}

	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return health, fmt.Errorf("no process answers: %w (it prints its address when it starts; see --url)", err)
	}
	defer answer.Body.Close()

	// Another server can listen on the port, with any answer.
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusServiceUnavailable {
		return health, fmt.Errorf("%s answers %s: it is not the admin listener of a process", url, answer.Status)
	}

	err = json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&health)
	// Any JSON object decodes; a process's health always has checks.
	if err == nil && len(health.Checks) == 0 {
		err = errors.New("no checks")
	}

	if err != nil {
		return health, fmt.Errorf("%s: not the answer of an admin listener: %w", url, err)
	}

	return health, nil
}

func printHealth(out io.Writer, health server.Health) {
	names := make([]string, len(health.Checks))
	for i, check := range health.Checks {
		names[i] = check.Name
	}

	if health.Ready {
		fmt.Fprintf(out, "ready (%s)\n", strings.Join(names, ", "))
	} else {
		fmt.Fprintln(out, "NOT READY")
	}

	for _, check := range health.Checks {
		if check.Status != server.HealthOK {
			fmt.Fprintf(out, "! %s: %s\n  -> %s\n", check.Name, check.Reason, check.Action)
		}
	}
}
