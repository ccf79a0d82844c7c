package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrOtherContent means that a directory has files that this package did not write.
var ErrOtherContent = errors.New("has other content")

// Write writes the files into the directory, which is created if it is missing, and returns their names, sorted. A
// directory with anything but files of an earlier call is refused with [ErrOtherContent], unless force is set:
// then files of the same names are replaced, and others stay.
func Write(dir string, files map[string][]byte, force bool) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // templates are no secret
		return nil, err
	}

	if !force {
		if err := checkContent(dir, files); err != nil {
			return nil, err
		}
	}

	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o644); err != nil { //nolint:gosec // as above
			return nil, err
		}
	}

	return names, nil
}

// checkContent fails if the directory has something that [Write] did not write.
func checkContent(dir string, files map[string][]byte) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}

	for _, entry := range entries {
		_, mine := files[entry.Name()]

		// JSON has no comments, so the state machine is known by its name only.
		if mine && !strings.HasSuffix(entry.Name(), ".json") {
			if mine, err = isMarked(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}

		if !mine {
			return fmt.Errorf("%s %w: %s", dir, ErrOtherContent, entry.Name())
		}
	}

	return nil
}

// isMarked reports whether a file begins with the marker.
func isMarked(name string) (bool, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}

	return bytes.HasPrefix(text, []byte("# "+marker)), err
}
