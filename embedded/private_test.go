//go:build unix

package embedded

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestOnlyTheOwnerCanRead: the data directory and every file in it, also if someone else made the directory, whatever
// the umask, and after others could read the files.
func TestOnlyTheOwnerCanRead(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))

	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	// os.Mkdir is subject to the umask, os.Chmod is not.
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}

	work := func(table string) {
		f := reopen(t, dir)
		f.table(table, "id", "", types.StreamViewTypeNewAndOldImages)
		f.put(table, item{"id": str("o-1")})
		onlyOwner(t, dir)

		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		onlyOwner(t, dir)
	}
	work("first")

	// As a copy of the directory may leave them.
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			err = os.Chmod(path, 0o644)
		}

		return err
	})
	work("second")
}

// onlyOwner checks the permissions of a directory and everything in it.
func onlyOwner(t *testing.T, dir string) {
	t.Helper()

	seen := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := entry.Info()
		if err != nil {
			return err
		}
		seen++

		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others have access to %s: %s", path, info.Mode())
		}

		return nil
	})
	if err != nil || seen < 5 {
		t.Errorf("%d files seen, %v", seen, err)
	}
}
