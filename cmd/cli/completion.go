package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/operate/inspect"
	"ratchet/server"
	"ratchet/workflow"
)

// completionTimeout bounds how long a shell waits for values.
const completionTimeout = 2 * time.Second

// stateFlags are the flags whose value is a state of orders.
var stateFlags = []string{"state", "from", "until"}

// addCompletion makes a shell complete ids of orders, events and states, in the commands below c that
// have them in their usage.
func addCompletion(s *settings.Settings, c *cobra.Command) {
	for _, sub := range c.Commands() {
		addCompletion(s, sub)

		// The words of the usage say what each argument is.
		words := strings.Fields(sub.Use)[1:]
		if sub.ValidArgsFunction == nil && (slices.Contains(words, "ORDER") || slices.Contains(words, "EVENT")) {
			sub.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
				// All arguments are given, so there is nothing to complete.
				if len(args) >= len(words) {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}

				return complete(s, c, words[len(args)], begun), cobra.ShellCompDirectiveNoFileComp
			}
		}

		for _, name := range stateFlags {
			// Flags of this name at other commands have other states, such as payments' states.
			if f := sub.Flags().Lookup(name); f == nil || f.Value.Type() != "string" || !strings.HasPrefix(sub.CommandPath(), "ratchet orders") {
				continue
			}

			// It fails only for a flag that is not there or has a completion.
			_ = sub.RegisterFlagCompletionFunc(name, func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return complete(s, c, "STATE", begun), cobra.ShellCompDirectiveNoFileComp
			})
		}
	}
}

// complete returns the values of a word of a usage that begin as the text does. It creates nothing,
// and returns no values if there is an error: a shell has no place for it.
func complete(s *settings.Settings, c *cobra.Command, word, begun string) (matching []string) {
	s.Use(c)
	// A key press must not create a data directory.
	s.Creates, s.Quiet = false, true

	var all []string
	switch word {
	case "ORDER":
		all = someOrders(c.Context(), s)
	case "EVENT", "STATE":
		// The definition may come from a file, so no backend has to be opened.
		if d, err := s.Definition(c, "order", ""); err == nil {
			all = namesOf(d, word)
		}
	}

	for _, value := range all {
		if strings.HasPrefix(value, begun) {
			matching = append(matching, value)
		}
	}

	return matching
}

func namesOf(d *workflow.Definition, word string) []string {
	if word == "EVENT" {
		return settings.EventNames(d)
	}

	return settings.StateNames(d)
}

// someOrders returns the ids of up to 100 orders.
func someOrders(ctx context.Context, s *settings.Settings) (ids []string) {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()

	// Ids in a shell are only a help: after an error there are none.
	_ = s.With(ctx, func(b *server.Backend) error {
		found, err := inspect.List(ctx, b.Orders, inspect.Page{})
		for _, order := range found.Orders {
			ids = append(ids, string(order.ID))
		}

		return err
	})

	return ids
}
