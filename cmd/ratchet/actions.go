package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ratchet/actions"
	"ratchet/server"
)

const actionsHelp = `One-time actions: magic links, coupons, tickets, approvals.

An ID of - is read from standard input, so that it does not show in the list of
processes. A PIN is never an argument: --pin asks for it (on a terminal without echo,
else it is the next line of standard input), --pin-file reads a file, --pin-env the
variable of that name.

Ids are signed with the keys in the data directory, or with the setting action-keys
(RATCHET_ACTION_KEYS; ` + "`ratchet actions key`" + ` makes one).

Exit status: 0 done (consumed, reserved, released, canceled), 3 the request id, code or
batch was used for another content, 4 action_not_found, 10 already_used, 11 expired, 12
canceled by its owner, 13 not_active, 14 held, 15 hold_lost, 16 locked, 17 invalid_pin; 1
and 2 as everywhere.`

// actionStatus is the exit status of an outcome that is not success.
var actionStatus = map[actions.Outcome]int{
	actions.NotFound: exitNotFound, actions.AlreadyUsed: 10, actions.Expired: 11, actions.Canceled: 12, actions.NotActive: 13,
	actions.Held: 14, actions.HoldLost: 15, actions.Locked: 16, actions.InvalidPIN: 17,
}

func actionsCommand(s *settings) *cobra.Command {
	a := &actionSettings{settings: s}
	c := group("actions", "Create and use one-time actions: magic links, coupons, tickets, approvals",
		actionsCreate(a), actionsGet(a), actionsConsume(a), actionsReserve(a), actionsRelease(a), actionsCancel(a), actionsBulk(a), actionsKey())
	c.Long = actionsHelp
	c.PersistentFlags().StringVar(&a.tenant, "tenant", "", "the tenant whose actions they are")

	return c
}

// actionSettings are what the commands on actions have in common.
type actionSettings struct {
	*settings
	tenant string
	input  *bufio.Reader
}

// with runs fn on the tenant's actions.
func (a *actionSettings) with(c *cobra.Command, fn func(*actions.Actions) error) error {
	return a.settings.with(c.Context(), func(b *server.Backend) error {
		all := b.Actions
		if a.tenant != "" {
			var err error
			if all, err = all.For(a.tenant); err != nil {
				return err
			}
		}

		return fn(all)
	})
}

// line reads one line of standard input.
func (a *actionSettings) line(c *cobra.Command) (string, error) {
	if a.input == nil {
		a.input = bufio.NewReader(io.LimitReader(c.InOrStdin(), 1<<10))
	}

	text, err := a.input.ReadString('\n')
	if text == "" && err != nil {
		return "", usageError("standard input: a line was expected: %w", err)
	}

	return strings.TrimRight(text, "\r\n"), nil
}

// id reads the action's id from the command's argument, or for - from standard input.
func (a *actionSettings) id(c *cobra.Command, argument string) (actions.ID, error) {
	if argument != "-" {
		return actions.ID(argument), nil
	}
	text, err := a.line(c)

	return actions.ID(text), err
}

// pinFlags are where a command's PIN comes from.
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

func (p pinFlags) read(c *cobra.Command, a *actionSettings) (actions.PIN, error) {
	switch {
	case *p.ask && *p.file+*p.env != "", *p.file != "" && *p.env != "":
		return "", usageError("one of --pin, --pin-file and --pin-env")
	case *p.file != "":
		text, err := os.ReadFile(*p.file)
		if err != nil {
			return "", usageError("pin-file: %w", err)
		}

		return notEmpty("pin-file", strings.TrimRight(string(text), "\r\n"))
	case *p.env != "":
		return notEmpty("pin-env", os.Getenv(*p.env))
	case !*p.ask:
		return "", nil
	}

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
		return "", usageError("%s: the PIN is empty", flag)
	}
	return actions.PIN(text), nil
}

// printOutcome prints a result; what was refused gets its own exit status.
func printOutcome(out io.Writer, asJSON bool, r actions.Result, done ...actions.Outcome) error {
	var err error
	if asJSON {
		err = printJSON(out, r)
	} else {
		_, err = fmt.Fprintln(out, describeOutcome(r))
	}

	if err != nil {
		return err
	}

	for _, o := range done {
		if r.Outcome == o {
			return nil
		}
	}

	return &statusError{actionStatus[r.Outcome], nil}
}

func describeOutcome(r actions.Result) string {
	text := string(r.Outcome)
	for _, at := range []struct {
		what string
		time time.Time
	}{{"at", r.ConsumedAt}, {"at", r.CanceledAt}, {"active from", r.ActiveAt}, {"until", r.HeldUntil}} {
		if !at.time.IsZero() {
			text += " " + at.what + " " + stamp(at.time)
		}
	}

	if r.Outcome == actions.Expired && !r.ExpiresAt.IsZero() {
		text += " at " + stamp(r.ExpiresAt)
	}

	if r.Fence != 0 {
		text += fmt.Sprintf(", fence %d", r.Fence)
	}

	if len(r.Payload) > 0 {
		text += "\n" + string(r.Payload)
	}

	return text
}

// payloadFlags are where a payload comes from.
func addPayloadFlag(c *cobra.Command) func() (json.RawMessage, error) {
	inline := c.Flags().String("payload", "", "a JSON value that whoever consumes the action gets; @FILE reads it from a file")

	return func() (json.RawMessage, error) {
		name, fromFile := strings.CutPrefix(*inline, "@")
		if !fromFile {
			return json.RawMessage(*inline), nil
		}

		text, err := os.ReadFile(name)
		if err != nil {
			return nil, usageError("payload: %w", err)
		}

		return text, nil
	}
}

// moment reads a time: RFC 3339, or a duration from now. Empty is no time.
func moment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}

	if d, err := time.ParseDuration(text); err == nil {
		return time.Now().Add(d), nil
	}

	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usageError("%s %q: a time like 2026-12-24T18:00:00Z, or a duration from now like 24h", flag, text)
	}

	return at, nil
}

func actionsKey() *cobra.Command {
	c := &cobra.Command{
		Use: "key", Short: "Make a key for the setting action-keys", Args: cobra.NoArgs,
		Long: "Prints a new random key as VERSION:BASE64. Put it in front of the older ones in RATCHET_ACTION_KEYS\n" +
			"(separated by spaces or commas): the first one signs. Keep a key until everything made with it has expired.",
	}
	version := c.Flags().Int("version", 1, "1 to 31, differs from those of the other keys")
	c.RunE = func(c *cobra.Command, _ []string) error {
		key := actions.NewKey(*version)
		if _, err := actions.ParseKeys(key.Reveal()); err != nil {
			return err
		}
		_, err := fmt.Fprintln(c.OutOrStdout(), key.Reveal())

		return err
	}

	return c
}
