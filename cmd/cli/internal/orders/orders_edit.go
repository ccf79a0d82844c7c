package orders

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/cmd/cli/internal/views"
	"ratchet/server"
	"ratchet/transitions"
)

const editHelp = `Edits lines, addresses, notes and own attributes of an order that is not paid yet. Each edit is one
conditional write and changes the total by the price of the lines.

A repeat with the same --event-id makes no second edit as long as the order remembers the
first; without --event-id every call is a new edit. With --if-match the edit is made only
if the content still has that version (` + "`orders get --json`" + `: contentVersion).

Each edit also sets and removes own attributes in its write (--set, --remove), on the
conditions of --if and --if-missing.

The order keeps who made its newest edit, and why (--reason, --reason-text).`

// ordersEdit returns the commands that change an order's content.
func ordersEdit(s *settings.Settings) *cobra.Command {
	c := settings.Group("edit", "Change lines, addresses, notes and own attributes of an order before it is paid",
		editCommand(s, "add-item ORDER SKU:QUANTITY:PRICE...", "Add lines; the price is that of one piece, in minor units; at most 97 different SKUs", cobra.MinimumNArgs(2), addItems),
		editCommand(s, "change-item ORDER SKU:QUANTITY:PRICE", "Change quantity and price of the first line with the SKU", cobra.ExactArgs(2), changeItem),
		editCommand(s, "remove-item ORDER SKU", "Remove every line with the SKU", cobra.ExactArgs(2), removeItem),
		editCommand(s, "set-address ORDER shipping|billing FIELD=TEXT...", "Replace an address; a single - reads it as a JSON object from standard input", cobra.MinimumNArgs(3), setAddress),
		editCommand(s, "add-note ORDER TEXT", "Add a note; - reads it from standard input", cobra.ExactArgs(2), addNote),
		ordersEditOwn(s))
	c.Long = editHelp

	return c
}

// sendEdit sends an edit with its content.
type sendEdit func(*transitions.Orders, transitions.Edit) (transitions.Result, error)

// parseEdit parses the content of one kind of edit. args are the arguments after the order.
type parseEdit func(c *cobra.Command, args []string) (sendEdit, error)

func editCommand(s *settings.Settings, use, short string, args cobra.PositionalArgs, parse parseEdit) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: args, Long: short + ".\n\n" + editHelp}

	event := c.Flags().String("event-id", "", "name of this edit; default: a new name for each call")
	cause := arguments.ReasonFlags(c)
	own := ownFlags(c)
	ifMatch := c.Flags().Int64("if-match", -1, "edit only if the content has this version; -1: any")
	// Only a note has an author.
	if strings.HasPrefix(use, "add-note") {
		c.Flags().String("by", "", "author of the note")
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := arguments.Given(c.Flags(), "event-id"); err != nil {
			return err
		}

		send, err := parse(c, args[1:])
		if err != nil {
			return err
		}

		e := transitions.Edit{OrderID: transitions.OrderID(args[0]), EventID: transitions.RequestID(*event), Cause: cause()}
		// Every call is then a new edit.
		if e.EventID == "" {
			e.EventID = transitions.RequestID("cli-" + arguments.NewRequestID())
		}

		if e.Own, err = own(); err != nil {
			return err
		}

		switch {
		case *ifMatch >= 0:
			// Its own variable: the edit must not change with the flag.
			seen := *ifMatch
			e.IfMatch = &seen
		case *ifMatch < -1:
			return exit.UsageError("if-match %d: content versions count from 0", *ifMatch)
		}

		return s.With(c.Context(), func(b *server.Backend) error {
			result, err := send(b.Orders, e)
			if err != nil {
				return err
			}

			return views.PrintEdit(c.OutOrStdout(), s.JSON, e.OrderID, result)
		})
	}

	return c
}

func addItems(c *cobra.Command, args []string) (sendEdit, error) {
	lines := make([]transitions.Item, len(args))
	for i, text := range args {
		var err error
		if lines[i], err = arguments.ParseItem(text); err != nil {
			return nil, err
		}
	}

	return func(o *transitions.Orders, e transitions.Edit) (transitions.Result, error) {
		return o.AddItems(c.Context(), e, lines...)
	}, nil
}

func changeItem(c *cobra.Command, args []string) (sendEdit, error) {
	line, err := arguments.ParseItem(args[0])
	return func(o *transitions.Orders, e transitions.Edit) (transitions.Result, error) {
		return o.ChangeItem(c.Context(), e, line)
	}, err
}

func removeItem(c *cobra.Command, args []string) (sendEdit, error) {
	return func(o *transitions.Orders, e transitions.Edit) (transitions.Result, error) {
		return o.RemoveItem(c.Context(), e, args[0])
	}, nil
}

func setAddress(c *cobra.Command, args []string) (sendEdit, error) {
	address := transitions.Address{}
	// An address on the command line would be in the history of the shell and in the list of
	// processes.
	if len(args) == 2 && args[1] == "-" {
		text, err := arguments.ReadFile(c, "-")
		if err == nil && json.Unmarshal(text, &address) != nil {
			err = exit.UsageError("standard input: must be a JSON object of strings") // an address is personal data: do not print it
		}

		if err != nil {
			return nil, err
		}
	} else {
		for i, field := range args[1:] {
			name, text, found := strings.Cut(field, "=")
			if !found {
				return nil, exit.UsageError("field %d of the address: must be FIELD=TEXT", i+1)
			}

			// The second value would silently win.
			if _, twice := address[name]; twice {
				return nil, exit.UsageError("field %d of the address: %s was given before", i+1, name)
			}
			address[name] = text
		}
	}

	return func(o *transitions.Orders, e transitions.Edit) (transitions.Result, error) {
		return o.SetAddress(c.Context(), e, args[0], address)
	}, nil
}

func addNote(c *cobra.Command, args []string) (sendEdit, error) {
	by, _ := c.Flags().GetString("by")
	note := transitions.Note{By: by, Text: args[0]}
	if note.Text == "-" {
		text, err := arguments.ReadFile(c, "-")
		if err != nil {
			return nil, err
		}
		note.Text = strings.TrimSpace(string(text))
	}

	return func(o *transitions.Orders, e transitions.Edit) (transitions.Result, error) {
		return o.AddNote(c.Context(), e, note)
	}, nil
}
