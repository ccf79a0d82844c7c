package settings

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ratchet/cmd/cli/internal/arguments"
)

// patient is the value of a flag that notes a wrong value in place of ending the parser, so that a call learns of all
// its wrong flags at once.
type patient struct {
	pflag.Value

	flag  *pflag.Flag
	wrong *[]error
}

func (p *patient) Set(text string) error {
	if err := p.Value.Set(text); err != nil {
		*p.wrong = append(*p.wrong, arguments.ValueError(p.flag, text, err))
	}

	return nil
}

// Unwrap returns the value that refuses at once.
func (p *patient) Unwrap() pflag.Value { return p.Value }

// BePatient makes the flags of a command and of all below it note their wrong values in Wrong.
func (s *Settings) BePatient(c *cobra.Command) {
	wrap := func(f *pflag.Flag) {
		// A flag may be in the sets of several commands.
		if _, done := f.Value.(*patient); !done {
			f.Value = &patient{Value: f.Value, flag: f, wrong: &s.Wrong}
		}
	}
	visitUnsorted(c.Flags(), wrap)
	visitUnsorted(c.PersistentFlags(), wrap)

	for _, sub := range c.Commands() {
		s.BePatient(sub)
	}
}

// visitUnsorted calls visit with each flag. Sorting the flags of every command is a good part of a program's start.
func visitUnsorted(flags *pflag.FlagSet, visit func(*pflag.Flag)) {
	sorted := flags.SortFlags
	flags.SortFlags = false

	flags.VisitAll(visit)

	flags.SortFlags = sorted
}
