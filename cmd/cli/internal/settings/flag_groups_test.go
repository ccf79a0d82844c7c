package settings

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// TestEveryFlagIsInOneGroup: a flag in two groups would be shown twice.
func TestEveryFlagIsInOneGroup(t *testing.T) {
	var seen []string
	for _, g := range FlagGroups {
		(&Settings{}).SharedFlags(g).VisitAll(func(f *pflag.Flag) {
			if slices.Contains(seen, f.Name) {
				t.Errorf("--%s is in two groups", f.Name)
			}
			seen = append(seen, f.Name)
		})
	}

	if len(seen) < 30 {
		t.Errorf("only %d flags", len(seen))
	}
}
