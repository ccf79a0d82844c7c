package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// versionOf returns the name of what is released: the wanted version, if the commit carries its tag and no file
// differs from the commit. Without a wanted version it is the commit, and -dirty shows that files differ.
func versionOf(module, wanted string) (string, error) {
	if wanted == "" {
		return git(module, "describe", "--tags", "--always", "--dirty")
	}

	// Files that git does not track could be built in, too.
	changes, err := git(module, "status", "--porcelain")
	if err != nil {
		return "", err
	}

	if changes != "" {
		return "", fmt.Errorf("version %s: files differ from the commit:\n%s", wanted, changes)
	}

	tags, err := git(module, "tag", "--points-at", "HEAD")
	if err != nil {
		return "", err
	}

	if !slices.Contains(strings.Fields(tags), wanted) {
		return "", fmt.Errorf("version %s: the commit does not carry this tag (it has: %s)", wanted, strings.Join(strings.Fields(tags), ", "))
	}

	return wanted, nil
}

// writeChanges writes the version's section of the changelog beside the archives.
func writeChanges(module, out, version string) error {
	text, err := os.ReadFile(filepath.Join(module, "CHANGELOG.md"))
	if err != nil {
		return err
	}

	section, err := sectionOf(string(text), version)
	if err != nil {
		return err
	}

	return os.WriteFile(filepath.Join(out, "CHANGES.md"), []byte(section), 0o644)
}

// sectionOf returns the section of a version, without its heading: "## 1.0.0 - 2027-01-31" for v1.0.0. A section that
// says that it is not released is refused.
func sectionOf(changelog, version string) (string, error) {
	number := strings.TrimPrefix(version, "v")

	for _, part := range strings.Split("\n"+changelog, "\n## ")[1:] {
		heading, section, _ := strings.Cut(part, "\n")
		if name, rest, _ := strings.Cut(heading, " "); name != number {
			continue
		} else if strings.Contains(rest, "unreleased") {
			return "", fmt.Errorf("version %s: CHANGELOG.md says %q: write the day of the release", version, heading)
		}

		return strings.TrimSpace(section) + "\n", nil
	}

	return "", fmt.Errorf("version %s: CHANGELOG.md has no section %q", version, "## "+number)
}
