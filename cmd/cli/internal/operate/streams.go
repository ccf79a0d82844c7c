package operate

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/settings"
	"ratchet/internal/plural"
)

func streamsCommand(s *settings.Settings) *cobra.Command {
	return settings.Group("streams", "Show how far the orders' stream is handled, pause its handlers, replay and repair it",
		streamsStatus(s), streamsLag(s), streamsPause(s), streamsResume(s), streamsReplay(s), streamsRebuild(s))
}

// ago formats how long ago a time was, "-" for the zero time.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}

	return max(now.Sub(t), 0).Round(time.Second).String()
}

// count formats a number that may be a lower bound.
func count(n int, more bool) string {
	if more {
		return fmt.Sprintf("%d+", n)
	}

	return fmt.Sprint(n)
}

// records formats a number of records like count.
func records(n int, more bool) string {
	if more {
		return count(n, more) + " records"
	}

	return plural.Of(n, "record")
}
