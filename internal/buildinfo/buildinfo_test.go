package buildinfo

import (
	"runtime/debug"
	"testing"
)

func TestVersionOfABuild(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}

	for _, test := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"no record", nil, "1.0.0-dev"},
		{"a record of nothing", &debug.BuildInfo{}, "1.0.0-dev"},
		{"go run and go test", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "1.0.0-dev"},
		{"a commit without a version", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: commit}, "1.0.0-dev+0123456789ab"},
		{"a pseudo-version before the first tag is none", &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261126120000-0123456789ab+dirty"}, Settings: commit}, "1.0.0-dev+0123456789ab"},
		{"a pseudo-version after a tag", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.4-0.20261126120000-0123456789ab"}, Settings: commit}, "v1.2.4-0.20261126120000-0123456789ab"},
		{"a tag counts more than its commit", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: commit}, "v1.2.3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := of(test.info)
			if got.Version != test.want || got.Go == "" || got.Platform == "" {
				t.Errorf("%+v, want the version %s", got, test.want)
			}

			if recorded := test.info != nil && test.info.Settings != nil; got.Modified != recorded || (got.Revision == commit[0].Value) != recorded {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestTheVersionIsOne: a process reports the version that `ratchet version` prints.
func TestTheVersionIsOne(t *testing.T) {
	if Version() != Read().Version || Version() == "" {
		t.Errorf("%q and %q", Version(), Read().Version)
	}
}
