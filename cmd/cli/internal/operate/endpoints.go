package operate

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/notify"
)

func endpointsCommand(s *settings.Settings) *cobra.Command {
	all := s.PrintsJSON(endpointsCreate(s), endpointsChange(s), endpointsList(s), endpointsShow(s), endpointsRotateSecret(s), endpointsTest(s))

	all = append(all, endpointsEnable(s), endpointsDisable(s), endpointsDelete(s))
	for _, c := range all {
		s.Takes(c, settings.TargetFlags, settings.OrdersFlags, settings.NotificationFlags)
	}

	c := settings.Group("endpoints", "Who gets notifications, where and how", append(all, endpointsSchema(s))...)
	c.Long = "Endpoints get the notifications about orders: webhooks, queues, topics, mailboxes. Workers go by a\n" +
		"change within 10 seconds. The setting `notify` makes one more, with the id `configured`; here it can\n" +
		"be enabled and disabled. docs/guides/notifications.md describes them."
	c.Example = "  ratchet endpoints create shop https://example.com/hook --states SHIPPED,DELIVERED\n  ratchet endpoints test shop"

	return c
}

// printedEndpoint is an endpoint as it is printed. Its Headers are the names only.
type printedEndpoint struct {
	notify.Endpoint
	Headers []string `json:"headers,omitempty"`
	// Secret is set by the commands that make one.
	Secret string `json:"secret,omitempty"`
}

func toPrintedEndpoint(e notify.Endpoint) printedEndpoint {
	p := printedEndpoint{Endpoint: e}
	for name := range e.Settings.Headers {
		p.Headers = append(p.Headers, name)
	}
	// Maps have no order; a printed list must not change with every call.
	slices.Sort(p.Headers)

	return p
}

// withSecret adds the newest secret of an endpoint that has just got one.
func (p printedEndpoint) withSecret() printedEndpoint {
	// The newest secret stands first.
	if len(p.Secrets) > 0 {
		p.Secret = p.Secrets[0].Key.Reveal()
	}

	return p
}

func printEndpoint(out io.Writer, asJSON bool, p printedEndpoint) error {
	if asJSON {
		return terminal.PrintJSON(out, p)
	}

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name string, value any) {
		// Empty settings have no line.
		if text := fmt.Sprint(value); text != "" && text != "[]" && text != "map[]" {
			fmt.Fprintf(w, "%s\t%s\n", name, text)
		}
	}
	line("endpoint", p.ID)
	line("destination", p.Destination)
	line("description", p.Description)
	line("status", p.Status)
	line("reason", p.Reason)

	if !p.FailingSince.IsZero() {
		line("failing since", terminal.Stamp(p.FailingSince))
	}
	line("states", p.Filter.States)
	line("events", p.Filter.Events)
	line("tenant", p.Filter.Tenant)
	line("attributes", p.Filter.Attributes)
	line("format", fmt.Sprintf("%s, version %d", p.Format, p.Version))
	line("order kept", p.Ordered)
	line("concurrency", p.Concurrency)

	if p.Rate > 0 {
		line("rate", fmt.Sprintf("%g per second", p.Rate))
	}
	line("headers", p.Headers)
	line("secret", p.Secret)

	return w.Flush()
}

func printEndpoints(out io.Writer, asJSON bool, all []notify.Endpoint) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "ENDPOINT\tSTATUS\tSTATES\tDESTINATION\tREASON")
	}

	for _, e := range all {
		if asJSON {
			if err := terminal.PrintJSON(out, toPrintedEndpoint(e)); err != nil {
				return err
			}
			continue
		}

		states := "all"
		if len(e.Filter.States) > 0 {
			states = strings.Trim(strings.ReplaceAll(fmt.Sprint(e.Filter.States), " ", ","), "[]")
		}

		reason := e.Reason
		if reason == "" && !e.FailingSince.IsZero() {
			reason = "failing since " + terminal.Stamp(e.FailingSince)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", e.ID, e.Status, states, e.Destination, reason)
	}

	return w.Flush()
}
