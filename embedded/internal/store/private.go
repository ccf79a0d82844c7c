package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Permissions of the data: only its owner can read it.
const (
	privateFile = 0o600
	privateDir  = 0o700
)

// Disk is the machine's file system. Whatever the process's umask is, only the owner can read the files and
// directories that are made through it.
var Disk vfs.FS = privateFS{vfs.Default}

type privateFS struct{ vfs.FS }

// Create creates a file.
func (p privateFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return private(name)(p.FS.Create(name, category))
}

// OpenReadWrite opens a file, which it creates if it is missing.
func (p privateFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, options ...vfs.OpenOption) (vfs.File, error) {
	return private(name)(p.FS.OpenReadWrite(name, category, options...))
}

// ReuseForWrite makes a file of another one.
func (p privateFS) ReuseForWrite(oldName, newName string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return private(newName)(p.FS.ReuseForWrite(oldName, newName, category))
}

// Lock locks a file, which it creates if it is missing.
func (p privateFS) Lock(name string) (io.Closer, error) {
	lock, err := p.FS.Lock(name)
	if err != nil || runtime.GOOS == "windows" {
		return lock, err
	}

	if err := os.Chmod(name, privateFile); err != nil {
		return nil, errors.Join(err, lock.Close())
	}

	return lock, nil
}

// MkdirAll makes a directory and those above it that are missing.
func (p privateFS) MkdirAll(dir string, _ os.FileMode) error { return os.MkdirAll(dir, privateDir) }

// Unwrap returns the file system below.
func (p privateFS) Unwrap() vfs.FS { return p.FS }

// private returns a function that sets the permissions of a file that was opened.
func private(name string) func(vfs.File, error) (vfs.File, error) {
	return func(file vfs.File, err error) (vfs.File, error) {
		if err != nil || runtime.GOOS == "windows" {
			return file, err
		}

		if err := os.Chmod(name, privateFile); err != nil {
			_ = file.Close() // nothing was written
			return nil, err
		}

		return file, nil
	}
}

// ownFile matches the names of files that the engine makes in a data directory. Others are not touched.
var ownFile = regexp.MustCompile(`^(CURRENT.*|LOCK|(MANIFEST|OPTIONS)-.*|marker\..*|.*\.(sst|log|blob|dbtmp)|identity|token|endpoint|audit.*\.jsonl|.*keys.*)$`)

// makePrivate takes the permissions of others away from the directory and the engine's files in it. It says what it
// has changed. It fails if everybody may change the directory and it cannot prevent that.
func makePrivate(dir string, log *slog.Logger) error {
	info, err := os.Stat(dir)
	if err != nil || runtime.GOOS == "windows" {
		return err
	}

	if open := info.Mode().Perm() &^ privateDir; open != 0 {
		err := os.Chmod(dir, privateDir)

		switch {
		case err == nil:
			log.Info("store: others had access to the data directory; now only its owner has", "directory", dir, "permissions", info.Mode().Perm())
		// A directory of a volume may belong to another user. Others see only the names of files there.
		case info.Mode().Perm()&0o002 == 0 || info.Mode()&fs.ModeSticky != 0:
			log.Warn("store: others can see the names of files in the data directory: run chmod 700", "directory", dir, "permissions", info.Mode().Perm(), "error", err)
		default:
			return fmt.Errorf("everybody may replace files in %s, and this user cannot change that: run chmod 700 as its owner: %w", dir, err)
		}
	}

	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}

	open := 0
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&^privateFile == 0 || !ownFile.MatchString(entry.Name()) {
			continue // a file that is gone needs nothing
		}

		path := filepath.Join(dir, entry.Name())
		if err := os.Chmod(path, privateFile); err != nil {
			return fmt.Errorf("others have access to %s: run chmod 600 as its owner: %w", path, err)
		}
		open++
	}

	if open > 0 {
		log.Warn("store: others had access to files of the data directory; now only their owner has", "directory", dir, "files", open)
	}

	return nil
}
