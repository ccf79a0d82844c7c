// Package buildinfo says what the program was built from, as the Go tool recorded it.
package buildinfo

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// Build says what the program was built from. Fields that the build did not record are empty.
type Build struct {
	// Version is the tag or a pseudo-version that follows one. Without a tag it is "1.0.0-dev+" and the first
	// 12 digits of the commit, or "1.0.0-dev" if no commit is recorded.
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	// Time is that of the commit, RFC 3339.
	Time string `json:"time,omitempty"`
	// Modified means that files differed from the commit.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Read returns what this program was built from.
func Read() Build {
	info, _ := debug.ReadBuildInfo()
	return of(info)
}

// Version is that of [Read].
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
	switch v := info.Main.Version; {
	case v != "" && v != "(devel)" && !strings.HasPrefix(v, "v0.0.0"): // what Go calls a commit before the first tag
		b.Version = v
	case len(b.Revision) >= digits:
		b.Version += "+" + b.Revision[:digits]
	}

	return b
}
