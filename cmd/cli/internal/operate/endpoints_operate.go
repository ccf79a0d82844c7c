package operate

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/notify"
	"ratchet/server"
)

func endpointsList(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the endpoints, with what is wrong with them", Args: cobra.NoArgs,
		Example: "  ratchet endpoints list --json",
		RunE: func(c *cobra.Command, _ []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				all, err := b.Endpoints.List(c.Context())
				if err != nil {
					return err
				}

				return printEndpoints(c.OutOrStdout(), s.JSON, all)
			})
		},
	}
}

// endpointCommand returns a command that does something to one endpoint and prints it.
func endpointCommand(s *settings.Settings, c *cobra.Command, do func(context.Context, *server.Backend, string) (notify.Endpoint, error)) *cobra.Command {
	c.Args = cobra.ExactArgs(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		return s.With(c.Context(), func(b *server.Backend) error {
			e, err := do(c.Context(), b, args[0])
			if err != nil {
				return err
			}

			return printEndpoint(c.OutOrStdout(), s.JSON, toPrintedEndpoint(e))
		})
	}

	return c
}

func endpointsShow(s *settings.Settings) *cobra.Command {
	return endpointCommand(s, &cobra.Command{
		Use: "show ID", Short: "Print an endpoint, without its secrets",
		Example: "  ratchet endpoints show shop",
	}, func(ctx context.Context, b *server.Backend, id string) (notify.Endpoint, error) {
		return b.Endpoints.Get(ctx, id)
	})
}

func endpointsEnable(s *settings.Settings) *cobra.Command {
	return endpointCommand(s, &cobra.Command{
		Use: "enable ID", Short: "Let an endpoint get notifications again",
		Long:    "What the endpoint missed is not sent by this: see `ratchet deliveries resend --since`.",
		Example: "  ratchet endpoints enable shop && ratchet deliveries resend --endpoint shop --since 24h",
	}, func(ctx context.Context, b *server.Backend, id string) (notify.Endpoint, error) {
		return b.Endpoints.Enable(ctx, id)
	})
}

func endpointsDisable(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "disable ID", Short: "Keep notifications from an endpoint",
		Long:    "Notifications for a disabled endpoint are recorded as MISSED, those that are under way, too.",
		Example: "  ratchet endpoints disable shop --reason 'moves to a new host'",
	}
	reason := c.Flags().String("reason", "disabled by hand", "why, for people")

	return endpointCommand(s, c, func(ctx context.Context, b *server.Backend, id string) (notify.Endpoint, error) {
		return b.Endpoints.Disable(ctx, id, *reason)
	})
}

func endpointsDelete(s *settings.Settings) *cobra.Command {
	return &cobra.Command{
		Use: "delete ID", SuggestFor: []string{"remove"}, Short: "Remove an endpoint", Args: cobra.ExactArgs(1),
		Long:    "What is under way to the endpoint is not sent. Its records stay for 30 days.",
		Example: "  ratchet endpoints delete shop",
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error { return b.Endpoints.Remove(c.Context(), args[0]) })
		},
	}
}

func endpointsRotateSecret(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "rotate-secret ID", Short: "Sign with a new secret, and for a while with the old one, too", Args: cobra.ExactArgs(1),
		Long: "Makes a new secret and prints it, once. Until the window has passed, webhooks carry the signatures of\n" +
			"both, so that receivers can change at any moment in it.",
		Example: "  ratchet endpoints rotate-secret shop --window 48h",
	}
	window := c.Flags().Duration("window", notify.RotationWindow, "how long the old secret signs, up to 720h; 0: not at all")
	variable := c.Flags().String("secret-env", "", secretHelp)
	c.RunE = func(c *cobra.Command, args []string) error {
		secret, err := secretFrom(*variable)
		if err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			e, err := b.Endpoints.RotateSecret(c.Context(), args[0], secret, *window)
			if err != nil {
				return err
			}

			return printEndpoint(c.OutOrStdout(), s.JSON, toPrintedEndpoint(e).withSecret())
		})
	}

	return c
}

func endpointsTest(s *settings.Settings) *cobra.Command {
	return s.Long(&cobra.Command{
		Use: "test ID", Short: "Send a test message to an endpoint", Args: cobra.ExactArgs(1),
		Long:    "Sends a message of type ratchet.test once, from this process, and prints the answer.",
		Example: "  ratchet endpoints test shop",
		RunE: func(c *cobra.Command, args []string) error {
			return s.With(c.Context(), func(b *server.Backend) error {
				answer, err := b.Deliveries.Test(c.Context(), args[0])
				if s.JSON {
					// An attempt that failed is the answer to the question, so it is printed, too.
					printed := map[string]any{"delivered": err == nil, "answer": answer.Status, "response": answer.Text}
					if err != nil {
						printed["error"] = err.Error()
					}

					if printErr := terminal.PrintJSON(c.OutOrStdout(), printed); printErr != nil {
						return printErr
					}
				} else if err == nil {
					fmt.Fprintf(c.OutOrStdout(), "delivered: %d %s\n", answer.Status, answer.Text)
				}

				return err
			})
		},
	}, "waiting for the answer")
}

func endpointsSchema(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the messages", Args: cobra.NoArgs,
		Example: "  ratchet endpoints schema --format cloudevents --version 2",
	}
	format := c.Flags().String("format", string(notify.Standard), "standard or cloudevents")
	version := c.Flags().Int("version", notify.LatestVersion, "version of the data")
	c.RunE = func(c *cobra.Command, _ []string) error {
		text, err := notify.Schema(notify.Format(*format), *version)
		if err != nil {
			return err
		}
		_, err = c.OutOrStdout().Write(text)

		return err
	}

	return c
}
