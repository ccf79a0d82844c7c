package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// WriteUsage prints the usage of a command: its call, examples, subcommands and its own flags, and which groups of
// shared flags it takes. Their flags are in the topic Topic: with them a help would not fit on a screen.
func WriteUsage(c *cobra.Command) error {
	var text strings.Builder

	if _, holds := c.Annotations[groupAnnotation]; c.Runnable() && !holds && c.HasParent() {
		text.WriteString("Usage:\n  " + c.UseLine())
	} else if c.HasAvailableSubCommands() {
		text.WriteString("Usage:\n  " + c.CommandPath() + " COMMAND [flags]")
	}

	if c.HasExample() {
		text.WriteString("\n\nExamples:\n" + c.Example)
	}

	writeSubcommands(&text, c)

	if own := FlagsIn(c, ""); own.HasAvailableFlags() {
		// pflag ends its text with blanks.
		text.WriteString("\n\nFlags:\n" + strings.TrimRight(own.FlagUsages(), " \n"))
	}

	var last []string
	if statuses := Statuses(c); statuses != "" {
		last = append(last, wrapped(statuses))
	}

	if groups := sharedGroups(c); len(groups) > 0 && c.HasParent() {
		last = append(last, "Shared flags (`ratchet help settings`): "+strings.Join(groups, ", "))
	}

	if len(last) > 0 {
		text.WriteString("\n\n" + strings.Join(last, "\n"))
	}

	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "\n\n`%s COMMAND --help` says more about a command.", c.CommandPath())
	}

	_, err := fmt.Fprintln(c.OutOrStderr(), text.String())

	return err
}

// statusesAnnotation holds the text about the exit statuses of a command.
const statusesAnnotation = "ratchet-statuses"

// SetStatuses gives a command the text about its exit statuses, in one line.
func SetStatuses(c *cobra.Command, text string) {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}

	c.Annotations[statusesAnnotation] = text
}

// Statuses returns the text about the exit statuses of a command, or "" if it has none of its own.
func Statuses(c *cobra.Command) string { return c.Annotations[statusesAnnotation] }

// wrapped breaks a text into lines of the help.
func wrapped(text string) string {
	var lines []string

	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > helpWidth {
			lines = append(lines, line)
			line = ""
		}

		line = strings.TrimLeft(line+" "+word, " ")
	}

	return strings.Join(append(lines, line), "\n")
}

// helpWidth is how long a line of wrapped text is.
const helpWidth = 120

// writeSubcommands lists the commands below c: those of each cobra group under its title, then those of none.
func writeSubcommands(text *strings.Builder, c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}

	other := "Commands:"
	if len(c.Groups()) > 0 {
		other = "More:"
	}

	for _, g := range slices.Concat(c.Groups(), []*cobra.Group{{Title: other}}) {
		listed := false

		for _, sub := range c.Commands() {
			if sub.GroupID != g.ID || !sub.IsAvailableCommand() && sub.Name() != "help" && !sub.IsAdditionalHelpTopicCommand() {
				continue
			}

			if !listed {
				listed = true

				text.WriteString("\n\n" + g.Title)
			}

			fmt.Fprintf(text, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
		}
	}
}

// sharedGroups returns the names of the groups of shared flags that a command accepts.
func sharedGroups(c *cobra.Command) (names []string) {
	for _, g := range FlagGroups {
		if FlagsIn(c, g.Name).HasAvailableFlags() {
			names = append(names, g.Name)
		}
	}

	return names
}

const topicHelp = `The target of a command is the first of these:

  1. the endpoint --endpoint-url (any compatible one, for instance the one that ` + "`ratchet dev`" + ` prints)
  2. the ` + "`ratchet dev`" + ` that serves the directory --data, while it runs
  3. AWS, if the SDK's default chain has a region
  4. the embedded engine over the directory --data

A command that uses AWS because of 3, or passes over a region because of 2, says so on standard
error (--quiet: not). Only commands that write create --data. ` + "`ratchet config show`" + ` prints the
target and where each setting comes from.

Settings come from flags, then RATCHET_* variables (RATCHET_ENDPOINT_URL for --endpoint-url), then
the profile --profile of the file --config, then that file (YAML, same names), then defaults.
Secrets are never arguments: they come from the file, from a variable (RATCHET_WEBHOOK_SECRET) or
from a file of their own (RATCHET_WEBHOOK_SECRET_FILE). docs/reference/configuration.md lists every setting.

Most settings have a flag. The flags are in groups; the help of a command names the groups that it takes.`

// Topic returns the help about settings and the flags that commands share: `ratchet help settings`.
func Topic() *cobra.Command {
	var text strings.Builder

	text.WriteString(topicHelp)

	for _, g := range FlagGroups {
		flags := (&Settings{}).SharedFlags(g)
		text.WriteString("\n\n" + g.Name + ":\n" + strings.TrimRight(flags.FlagUsages(), " \n"))
	}

	return &cobra.Command{Use: "settings", Short: "Where settings come from, and the flags that commands share", Long: text.String()}
}
