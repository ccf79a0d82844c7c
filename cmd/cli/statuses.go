package cli

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/once/actions"
)

// statusesText has a line for each command with exit statuses of its own: COMMAND: STATUS [MEANING]; ... A status without
// a meaning has the one of usualStatuses, as have 0, 1 and 2 of every command.
//
//go:embed statuses.txt
var statusesText string

// usualStatuses are the meanings of exit statuses. 10 to 17 are outcomes of actions.
var usualStatuses = map[int]string{
	exit.OK: "done", exit.Failure: "failed", exit.Usage: "wrong input", exit.Refused: "refused, or in conflict",
	exit.NotFound: "not found", exit.Forced: "stopped with tasks given back unfinished", exit.Paused: "its job is paused",
	10: string(actions.AlreadyUsed), 11: string(actions.Expired), 12: string(actions.Canceled), 13: string(actions.NotActive),
	14: string(actions.Held), 15: string(actions.HoldLost), 16: string(actions.Locked), 17: string(actions.InvalidPIN),
}

// statusesOf returns the exit statuses of each command that has its own, by its path.
func statusesOf() map[string]map[int]string {
	all := map[string]map[int]string{}

	for line := range strings.Lines(statusesText) {
		path, stated, _ := strings.Cut(strings.TrimSpace(line), ": ")
		own := map[int]string{exit.OK: "", exit.Failure: "", exit.Usage: ""}

		for one := range strings.SplitSeq(stated, "; ") {
			number, meaning, _ := strings.Cut(one, " ")
			status, _ := strconv.Atoi(number) // TestStatusesBelongToCommands sees that it is one
			own[status] = meaning
		}

		for status, meaning := range own {
			if meaning == "" {
				own[status] = usualStatuses[status]
			}
		}

		all[path] = own
	}

	return all
}

// addStatuses gives the commands below c the text about their exit statuses.
func addStatuses(c *cobra.Command, all map[string]map[int]string) {
	for _, sub := range c.Commands() {
		addStatuses(sub, all)
	}

	own := all[settings.CommandName(c)]
	if own == nil {
		return
	}

	var parts []string
	for _, status := range slices.Sorted(maps.Keys(own)) {
		parts = append(parts, strconv.Itoa(status)+" "+own[status])
	}

	settings.SetStatuses(c, "Exit status: "+strings.Join(parts, "; ")+".")
}
