package money

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/once/actions"
)

// pinFlags say where a command's PIN comes from.
type pinFlags struct {
	ask       *bool
	file, env *string
}

func addPINFlags(c *cobra.Command) pinFlags {
	return pinFlags{
		ask:  c.Flags().Bool("pin", false, "ask for the PIN: on a terminal without echo, else the next line of standard input"),
		file: c.Flags().String("pin-file", "", "read the PIN from this file"),
		env:  c.Flags().String("pin-env", "", "read the PIN from this environment variable"),
	}
}

// read reads the PIN. Without one of the flags it returns an empty PIN.
func (p pinFlags) read(c *cobra.Command, a *actionSettings) (actions.PIN, error) {
	switch {
	// Each flag is a source of its own; two of them would leave open which PIN counts.
	case *p.ask && *p.file+*p.env != "", *p.file != "" && *p.env != "":
		return "", exit.UsageError("one of --pin, --pin-file and --pin-env")
	case *p.file != "":
		text, err := os.ReadFile(*p.file)
		if err != nil {
			return "", exit.UsageError("pin-file: %w", err)
		}

		// Only the end of the line is cut off: spaces may be part of a PIN.
		return notEmpty("pin-file", strings.TrimRight(string(text), "\r\n"))
	case *p.env != "":
		return notEmpty("pin-env", os.Getenv(*p.env))
	case !*p.ask:
		return "", nil
	}

	// Echo is turned off only on a terminal; a pipe has none.
	if in, ok := c.InOrStdin().(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		fmt.Fprint(c.ErrOrStderr(), "PIN: ")
		text, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(c.ErrOrStderr())

		if err != nil {
			return "", fmt.Errorf("read the PIN: %w", err)
		}

		return notEmpty("pin", string(text))
	}

	text, err := a.line(c)
	if err != nil {
		return "", err
	}

	return notEmpty("pin", text)
}

func notEmpty(flag, text string) (actions.PIN, error) {
	if text == "" {
		return "", exit.UsageError("%s: the PIN is empty", flag)
	}
	return actions.PIN(text), nil
}

// addPayloadFlag adds --payload and returns a function that reads the payload.
func addPayloadFlag(c *cobra.Command) func() (json.RawMessage, error) {
	inline := c.Flags().String("payload", "", "a JSON value that consume prints; @FILE reads it from a file")

	return func() (json.RawMessage, error) {
		// The payload is checked as JSON where the action is made.
		name, fromFile := strings.CutPrefix(*inline, "@")
		if !fromFile {
			return json.RawMessage(*inline), nil
		}

		text, err := os.ReadFile(name)
		if err != nil {
			return nil, exit.UsageError("payload: %w", err)
		}

		return text, nil
	}
}
