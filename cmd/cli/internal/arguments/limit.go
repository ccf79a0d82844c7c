package arguments

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// limit is the value of a flag --limit: a whole number from 1 to most.
type limit struct{ value, most int }

func (l *limit) String() string { return strconv.Itoa(l.value) }

// Type is what the help shows.
func (l *limit) Type() string { return "int" }

func (l *limit) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > l.most {
		return flagRuleError(fmt.Sprintf("must be a whole number, 1 to %d", l.most))
	}
	l.value = n

	return nil
}

// LimitFlag adds the flag --limit, which is refused outside of 1 to most: 0 would list everything.
func LimitFlag(f *pflag.FlagSet, value, most int, usage string) *int {
	l := &limit{value, most}
	f.Var(l, "limit", fmt.Sprintf("%s, 1 to %d", usage, most))

	return &l.value
}
