package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/actions"
)

func actionsCreate(a *actionSettings) *cobra.Command {
	c := &cobra.Command{
		Use: "create", Short: "Make an action and print its id", Args: cobra.NoArgs,
		Long: "Makes an action. Its id is printed once and is the right to use it; only its MAC makes it so, and\n" +
			"that is not stored. Repeating the command with the same --request-id or --code and the same\n" +
			"content finds the action; another content is refused. So with these --expires-at must be given,\n" +
			"and times be RFC 3339: one counted from now would differ each time. Of a PIN a repeat does not\n" +
			"tell whether it is the same.",
	}
	code := c.Flags().String("code", "", "a code of your own, like SUMMER-24, instead of an id; it is never free again")
	request := c.Flags().String("request-id", "", "names this creation")
	active := c.Flags().String("active-at", "", "when it may first be used: RFC 3339, or a duration from now; default: at once")
	expires := c.Flags().String("expires-at", "", "when it may no more: RFC 3339, or a duration from now; default: 24h")
	attempts := c.Flags().Int("max-attempts", 0, "tries of the PIN, 1 to 10; default 3")
	pin, payload := addPINFlags(c), addPayloadFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		spec := actions.Spec{Code: *code, RequestID: *request, MaxAttempts: *attempts}

		err := given(c.Flags(), "code", "request-id", "expires-at")
		if err != nil {
			return err
		}

		read := moment
		switch named := *code != "" || *request != ""; {
		case named && *expires == "":
			return usageError("expires-at: must be given with --code or --request-id, like 2026-12-24T18:00:00Z, so that a repeat asks for the same")
		case named:
			read = fixed
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

			if a.json {
				return printJSON(c.OutOrStdout(), made)
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), string(made.ID))

			return err
		})
	}

	return c
}
