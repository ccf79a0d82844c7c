package operate

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/notify"
	"ratchet/notify/webhooks"
	"ratchet/server"
	"ratchet/workflow"
)

// endpointFlags are the flags for an endpoint's settings.
type endpointFlags struct {
	set                   *pflag.FlagSet
	states, events        *[]string
	attributes, headers   *map[string]string
	description, tenant   *string
	format, subject, text *string
	version, concurrency  *int
	ordered               *bool
	rate                  *float64
}

func addEndpointFlags(f *pflag.FlagSet) *endpointFlags {
	return &endpointFlags{
		set:         f,
		states:      f.StringSlice("states", nil, "only when orders enter these states"),
		events:      f.StringSlice("events", nil, "only after these events"),
		tenant:      f.String("tenant", "", `only orders of this tenant; "*": of all. Default: orders without a tenant`),
		attributes:  f.StringToString("attribute", nil, "only orders with NAME=VALUE: "+strings.Join(notify.AttributeNames(), ", ")),
		headers:     f.StringToString("header", nil, "NAME=VALUE to send with webhooks; values are not shown again"),
		description: f.String("description", "", "for people"),
		format:      f.String("format", string(notify.Standard), "standard (Standard Webhooks) or cloudevents (CloudEvents 1.0)"),
		version:     f.Int("version", 1, "version of the data, 1 or 2"),
		ordered:     f.Bool("ordered", false, "send the notifications of one order one after the other"),
		rate:        f.Float64("rate", 0, "most attempts per second of all workers; 0: no limit"),
		concurrency: f.Int("concurrency", 0, "most attempts of one worker at once, 1 to 64; 0: 8"),
		subject:     f.String("subject", "", "template of an e-mail's subject"),
		text:        f.String("text", "", "template of an e-mail's text"),
	}
}

// apply puts the flags that are on the command line into the settings.
func (f *endpointFlags) apply(s *notify.Settings) {
	// A flag that was not given leaves its setting alone: `change` starts from the stored ones.
	given := func(name string) bool { return f.set.Changed(name) }

	if given("states") {
		// The flag replaces the filter and does not append to it: an empty flag removes the filter.
		s.Filter.States = nil
		for _, state := range *f.states {
			s.Filter.States = append(s.Filter.States, workflow.State(state))
		}
	}

	if given("events") {
		s.Filter.Events = nil
		for _, event := range *f.events {
			s.Filter.Events = append(s.Filter.Events, workflow.Event(event))
		}
	}

	setIf(given("tenant"), &s.Filter.Tenant, *f.tenant)
	setIf(given("attribute"), &s.Filter.Attributes, *f.attributes)
	setIf(given("header"), &s.Headers, *f.headers)
	setIf(given("description"), &s.Description, *f.description)
	setIf(given("format"), &s.Format, notify.Format(*f.format))
	setIf(given("version"), &s.Version, *f.version)
	setIf(given("ordered"), &s.Ordered, *f.ordered)
	setIf(given("rate"), &s.Rate, *f.rate)
	setIf(given("concurrency"), &s.Concurrency, *f.concurrency)
	setIf(given("subject"), &s.Subject, *f.subject)
	setIf(given("text"), &s.Text, *f.text)
}

func setIf[T any](given bool, field *T, value T) {
	if given {
		*field = value
	}
}

const secretHelp = "environment variable with the secret (whsec_… or 24 to 64 bytes); default: a new one"

// secretFrom reads a secret from the environment variable; without a name it returns nil. Secrets
// are no flags, because other users of the machine can see a process's flags.
func secretFrom(variable string) (webhooks.Secret, error) {
	if variable == "" {
		// Nil: the service makes a new secret.
		return nil, nil
	}

	// The name is not shown: the secret itself may stand there by mistake.
	text, has := os.LookupEnv(variable)
	if !has {
		return nil, exit.UsageError("secret-env: must name an environment variable that is set")
	}

	secret, err := webhooks.ParseSecret(text)
	if err != nil {
		return nil, exit.UsageError("secret-env: %w", err)
	}

	return secret, nil
}

func endpointsCreate(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "create ID DESTINATION", Short: "Create an endpoint and print its secret, once", Args: cobra.ExactArgs(2),
		Long: "Creates an endpoint. DESTINATION is a URL (https://…), sqs:QUEUE-URL, sns:TOPIC-ARN,\n" +
			"eventbridge:BUS, mailto:ADDRESS or log. The secret, which signs webhooks, is not shown again.",
		Example: "  ratchet endpoints create shop https://example.com/hook --states SHIPPED,DELIVERED --ordered\n" +
			"  ratchet endpoints create audit sqs:https://sqs.eu-west-1.amazonaws.com/1234/audit --format cloudevents",
	}
	flags := addEndpointFlags(c.Flags())
	variable := c.Flags().String("secret-env", "", secretHelp)
	c.RunE = func(c *cobra.Command, args []string) error {
		secret, err := secretFrom(*variable)
		if err != nil {
			return err
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			settings := notify.Settings{Destination: args[1]}
			flags.apply(&settings)

			e, err := b.Endpoints.Create(c.Context(), args[0], settings, secret)
			if err != nil {
				return err
			}

			// This is the only time that the secret is shown.
			return printEndpoint(c.OutOrStdout(), s.JSON, toPrintedEndpoint(e).withSecret())
		})
	}

	return c
}

func endpointsChange(s *settings.Settings) *cobra.Command {
	c := &cobra.Command{
		Use: "change ID", Short: "Change settings of an endpoint",
		Long:    "Changes the settings whose flags are given. --states= (empty) removes that part of the filter.",
		Example: "  ratchet endpoints change shop --states= --rate 50",
	}
	flags := addEndpointFlags(c.Flags())
	destination := c.Flags().String("destination", "", "where messages go")

	return endpointCommand(s, c, func(ctx context.Context, b *server.Backend, id string) (notify.Endpoint, error) {
		return b.Endpoints.Change(ctx, id, func(settings *notify.Settings) error {
			// Headers may be secrets of the old destination, and no one may read them by changing it.
			if c.Flags().Changed("destination") && *destination != settings.Destination {
				settings.Destination, settings.Headers = *destination, nil
			}
			flags.apply(settings)

			return nil
		})
	})
}
