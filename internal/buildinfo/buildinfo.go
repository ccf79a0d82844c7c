// Package buildinfo says what the program was built from, as the Go tool recorded it.
package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// Build says what the program was built from. Fields that the build did not record are empty.
type Build struct {
	// Version is the tag or the pseudo-version, else the first 12 digits of the commit, else
	// "unknown".
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

// unknown is the version of a program without a record, such as a test.
const unknown = "unknown"

// of reads a record of the Go tool. It may be nil.
func of(info *debug.BuildInfo) Build {
	b := Build{Version: unknown, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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
	case v != "" && v != "(devel)":
		b.Version = v
	case len(b.Revision) >= digits:
		b.Version = b.Revision[:digits]
	}

	return b
}
