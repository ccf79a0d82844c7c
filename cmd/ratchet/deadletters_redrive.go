package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ratchet/server"
	"ratchet/streams"
)

func deadLettersRedrive(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "redrive HANDLER LETTER", Short: "Hand a dead letter to its handler again", Args: cobra.ExactArgs(2),
		Long: "Shows the letter. With --write its change is handed to the handler once more, in this process\n" +
			"with this configuration: when the handler has done its part the letter is deleted, else it\n" +
			"stays, with the new error.\n\n" + deadLettersHelp,
	}
	write := c.Flags().Bool("write", false, "do it; else the letter is only shown")
	c.RunE = func(c *cobra.Command, args []string) error {
		return s.with(c.Context(), func(b *server.Backend) error {
			h, err := handlerNamed(b, args[0])
			if err != nil {
				return err
			}

			l, err := deadLetters(b).Get(c.Context(), h.Name, args[1])
			switch {
			case err != nil:
				return err
			case !*write:
				fmt.Fprintln(c.ErrOrStderr(), "nothing was done: say --write to redrive it")
				return printLetter(c.OutOrStdout(), s.json, letterOf(l))
			}

			err = deadLetters(b).Redrive(c.Context(), l.ID, h, nil)
			switch {
			case errors.Is(err, streams.ErrDeadLetterNotFound), errors.Is(err, streams.ErrRedriving):
				return err
			case err != nil:
				return &statusError{exitRefused, err}
			case s.json:
				return printJSON(c.OutOrStdout(), map[string]string{"handler": h.Name, "id": l.ID, "status": "handled"})
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "handled: %s of order %s; the letter is gone\n", h.Name, letterOf(l).Order)

			return err
		})
	}

	return c
}
