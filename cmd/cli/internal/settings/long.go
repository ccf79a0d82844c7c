package settings

import (
	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/terminal"
)

// LongAnnotation marks the commands that were passed to long. Its value is the text with which
// their progress begins.
const LongAnnotation = "ratchet-long"

// Long makes a command show its progress, which is s.progress while the command runs. The text
// names the work before anything is counted, such as "reading orders".
func (s *Settings) Long(c *cobra.Command, text string) *cobra.Command {
	s.Takes(c, quietFlags)
	c.Annotations = map[string]string{LongAnnotation: text}

	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		// A nil progress shows nothing.
		if !s.Quiet {
			var stop func()
			s.Progress, stop = terminal.StartProgress(c, text, s.ProgressEvery)

			defer func() {
				stop()

				s.Progress = nil
			}()
		}

		return run(c, args)
	}

	return c
}
