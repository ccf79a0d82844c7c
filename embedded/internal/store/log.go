package store

import (
	"math"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// logExtension is that of Pebble's logs, which hold the newest changes.
const logExtension = ".log"

// logStep is by how many bytes a log becomes larger at a time.
const logStep = 1 << 20

// logFS is a file system whose logs are larger than what they hold.
//
// A sync of a file that has become larger waits for the file's new size, too. Pebble reserves room for its
// logs, but their size is that of the records: without this, each sync takes about a third longer on ext4.
// Pebble reads the zeros behind the records as the end of the log.
type logFS struct{ vfs.FS }

// Create creates a file.
func (l logFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := l.FS.Create(name, category)
	if err != nil || filepath.Ext(name) != logExtension {
		return file, err
	}

	return &logFile{File: file}, nil
}

// ReuseForWrite makes a new log of one that is not needed any more. Its records count as zeros.
func (l logFS) ReuseForWrite(oldName, newName string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := l.FS.ReuseForWrite(oldName, newName, category)
	if err != nil || filepath.Ext(newName) != logExtension {
		return file, err
	}

	log := &logFile{File: file}
	if info, err := file.Stat(); err == nil {
		log.size = info.Size()
	}

	return log, nil
}

// Unwrap returns the file system below.
func (l logFS) Unwrap() vfs.FS { return l.FS }

// logFile is a log that is written from its beginning to its end.
type logFile struct {
	vfs.File
	end  int64 // of the records
	size int64 // of the file
}

// Write appends to the records.
func (l *logFile) Write(p []byte) (int, error) {
	if end := l.end + int64(len(p)); end > l.size {
		l.extend(end)
	}

	n, err := l.File.Write(p)
	l.end += int64(n)

	return n, err
}

// extend makes the file larger than end. If that fails, for example on a full disk, syncs take longer, and that
// is all.
func (l *logFile) extend(end int64) {
	l.size = (end/logStep + 1) * logStep
	if _, err := l.WriteAt([]byte{0}, l.size-1); err != nil {
		l.size = math.MaxInt64 // no further try
	}
}
