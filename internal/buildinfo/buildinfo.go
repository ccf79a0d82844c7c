// Package buildinfo says from which code the program was built, as the Go tool recorded it.
package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// Build says from which code the program was built. Fields that the build did not record are empty.
type Build struct {
	// Version is the tag or the pseudo-version, else the first 12 digits of the commit, else
	// "unknown".
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
	// Go writes "(devel)" for a build without a version, as in a test.
	switch v := info.Main.Version; {
	case v != "" && v != "(devel)":
		b.Version = v
	case len(b.Revision) >= digits:
		b.Version = b.Revision[:digits]
	}

	return b
}
