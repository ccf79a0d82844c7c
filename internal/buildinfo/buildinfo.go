// Package buildinfo says from which code the program was built, as the Go tool recorded it.
package buildinfo

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// Build says from which code the program was built. Fields that the build did not record are empty.
type Build struct {
	// Version is the tag or a pseudo-version that follows one. Without a tag it is "1.0.0-dev+" and the first
	// 12 digits of the commit, or "1.0.0-dev" if no commit is recorded.
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	// Time is the time of the commit, RFC 3339.
	Time string `json:"time,omitempty"`
	// Modified means that files differed from the commit.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Read returns the build of this program.
func Read() Build {
	info, _ := debug.ReadBuildInfo()
	return of(info)
}

// Version is the version that [Read] returns.
func Version() string { return Read().Version }

// next is the version to be released next.
const next = "1.0.0"

// of reads a record of the Go tool. It may be nil.
func of(info *debug.BuildInfo) Build {
	b := Build{Version: next + "-dev", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}

	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}

	const digits = 12
	// Go writes "(devel)" for a build without a version, as in a test.
	switch v := info.Main.Version; {
	case v != "" && v != "(devel)" && !strings.HasPrefix(v, "v0.0.0"): // what Go calls a commit before the first tag
		b.Version = v
	case len(b.Revision) >= digits:
		b.Version += "+" + b.Revision[:digits]
	}

	return b
}
