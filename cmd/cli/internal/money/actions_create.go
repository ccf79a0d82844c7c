package money

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/terminal"
	"ratchet/once/actions"
)

func actionsCreate(a *actionSettings) *cobra.Command {
	c := &cobra.Command{
		Use: "create", Short: "Make an action and print its id", Args: cobra.NoArgs,
		Long: "Makes an action and prints its id. The id is the right to use the action: it contains a MAC that\n" +
			"is not stored, so it cannot be printed again.\n\n" +
			"Repeating the command with the same --request-id or --code and the same content finds the\n" +
			"action; other content is refused. With these flags --expires-at is required and times must be\n" +
			"RFC 3339, because a time counted from now would differ with each call. A repeat does not compare\n" +
			"the PIN.",
	}
	code := c.Flags().String("code", "", "a code of your own, like SUMMER-24, instead of an id; it can never be used for another action")
	request := c.Flags().String("request-id", "", "names this creation")
	active := c.Flags().String("active-at", "", "when it can first be used: RFC 3339, or a duration from now; default: at once")
	expires := c.Flags().String("expires-at", "", "when it expires: RFC 3339, or a duration from now; default: 24h")
	attempts := c.Flags().Int("max-attempts", 0, "tries of the PIN, 1 to 10; default 3")
	pin, payload := addPINFlags(c), addPayloadFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		spec := actions.Spec{Code: *code, RequestID: *request, MaxAttempts: *attempts}

		err := arguments.Given(c.Flags(), "code", "request-id", "expires-at")
		if err != nil {
			return err
		}

		// A repeat must ask for the same content, so with a name the times must not depend on now.
		read := arguments.Moment
		switch named := *code != "" || *request != ""; {
		case named && *expires == "":
			return exit.UsageError("expires-at: must be given with --code or --request-id, like 2026-12-24T18:00:00Z, so that a repeat asks for the same")
		case named:
			read = arguments.Fixed
		case *expires == "":
			*expires = "24h"
		}

		if spec.ActiveAt, err = read("active-at", *active); err != nil {
			return err
		}

		if spec.ExpiresAt, err = read("expires-at", *expires); err != nil {
			return err
		}

		if spec.Payload, err = payload(); err != nil {
			return err
		}

		if spec.PIN, err = pin.read(c, a); err != nil {
			return err
		}

		return a.with(c, func(all *actions.Actions) error {
			made, err := all.Create(c.Context(), spec)
			if err != nil {
				return err
			}

			if a.JSON {
				return terminal.PrintJSON(c.OutOrStdout(), made)
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), string(made.ID))

			return err
		})
	}

	return c
}
