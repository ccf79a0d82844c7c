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
		Use: "redrive HANDLER LETTER", Short: "Redrive a dead letter", Args: cobra.ExactArgs(2),
		Long: "Shows the letter. With --write the handler handles the change once more, in this process and\n" +
			"with this configuration. If it succeeds, the letter is deleted, else it stays, with the new\n" +
			"error.\n\n" + deadLettersHelp,
	}
	write := c.Flags().Bool("write", false, "redrive the letter; without it the letter is only shown")
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
				fmt.Fprintln(c.ErrOrStderr(), "nothing was done: use --write to redrive the letter")
				return printLetter(c.OutOrStdout(), s.json, toPrinted(l))
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
			_, err = fmt.Fprintf(c.OutOrStdout(), "handled: %s of order %s; the letter is deleted\n", h.Name, toPrinted(l).Order)

			return err
		})
	}

	return c
}
