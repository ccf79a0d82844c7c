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
)

// statusesText has a line for each command with exit statuses of its own: COMMAND: STATUS [MEANING]; ... A status without
// a meaning has the one of usualStatuses, as have 0, 1 and 2 of every command.
//
//go:embed statuses.txt
var statusesText string

// usualStatuses are the meanings of exit statuses. 10 to 17 are outcomes of actions.
var usualStatuses = map[int]string{
	exit.OK: "done", exit.Failure: "failed", exit.Usage: "wrong arguments or input", exit.Refused: "refused, or in conflict",
	exit.NotFound: "not found", exit.Forced: "stopped with tasks given back unfinished", exit.Paused: "Ctrl-C has paused its job",
	10: "used already", 11: "expired", 12: "canceled", 13: "not active yet", 14: "held by another", 15: "the hold is lost", 16: "locked",
	17: "wrong PIN",
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
