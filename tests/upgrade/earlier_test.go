//go:build upgrade

package upgrade

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// earlier is the commit of the earlier version. Until the tag v1.0.0 a change may alter a format. Then
// earlier becomes empty, so that nothing runs. The first commit after such a change sets it to the
// change's last commit.
const earlier = "ba045fa6"

// buildEarlier compiles the command as it was at the commit, and returns the program's path. Without
// the commit there is nothing to compare with: that is a failure where CI is set, and else a skip.
func buildEarlier(t *testing.T) string {
	t.Helper()

	if earlier == "" {
		t.Skip("`earlier` names no commit: two versions were NOT tried beside each other (docs/operate/upgrades.md)")
	}

	if out, err := exec.CommandContext(t.Context(), "git", "cat-file", "-e", earlier+"^{commit}").CombinedOutput(); err != nil {
		const reason = "this repository has no commit %s (a shallow clone, or no git): NOTHING was tried with an earlier version; `git fetch --unshallow` gets it: %v\n%s"
		if os.Getenv("CI") != "" {
			t.Fatalf(reason, earlier, err, out)
		}
		t.Skipf(reason, earlier, err, out)
	}

	root, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		t.Fatal(err)
	}

	archive := exec.CommandContext(t.Context(), "git", "archive", "--format=tar", earlier)
	archive.Dir = strings.TrimSpace(string(root)) // in another folder it archives only that folder

	packed, err := archive.Output()
	if err != nil {
		t.Fatalf("archive %s: %v", earlier, err)
	}

	source, bin := t.TempDir(), filepath.Join(t.TempDir(), "ratchet")

	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", source)
	unpack.Stdin = bytes.NewReader(packed)

	// Without paths the next run finds what this one compiled in the cache, though its folder is another one.
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", bin, "./cmd/ratchet")
	build.Dir = source

	for _, cmd := range []*exec.Cmd{unpack, build} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}

	return bin
}
