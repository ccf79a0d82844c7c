package server

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	// maxAuditFile is the size in bytes at which the file of audit lines is renamed to one with oldAudit at its end. The one
	// before that is replaced, so that both together have twice as much at most.
	maxAuditFile = 256 << 20
	oldAudit     = ".1"
	// auditLook is the time between two looks whether someone else has moved the file.
	auditLook = time.Second
)

// auditWriter is a file to which audit lines are appended. It goes on in a new file if the old one was moved or removed, as
// programs do that rotate logs, and bounds its size itself.
type auditWriter struct {
	path string
	most int64

	mu   sync.Mutex
	file *os.File
	size int64
	look time.Time // when to look at the path again
}

func openAuditFile(path string, most int64) (*auditWriter, error) {
	w := &auditWriter{path: path, most: most}
	if err := w.open(); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}

	return w, nil
}

// open opens the file at the path. w.mu must be held, or no one else have w.
func (w *auditWriter) open() error {
	file, err := os.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}

	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}

	w.file, w.size, w.look = file, info.Size(), time.Now().Add(auditLook)

	return nil
}

// Write appends a line. If the file cannot be changed for a new one, the line goes into the file before: no line is lost
// for the sake of the size.
func (w *auditWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	_ = w.rotate(int64(len(line)))
	n, err := w.file.Write(line)
	w.size += int64(n)

	return n, err
}

// rotate goes on in a new file if the present one is full or was moved. w.mu must be held.
func (w *auditWriter) rotate(more int64) error {
	full := func() bool { return w.size > 0 && w.size+more > w.most }
	if !full() && time.Now().Before(w.look) {
		return nil
	}
	w.look = time.Now().Add(auditLook)

	// A file that another process has renamed is not at the path, and the one that is there is not full.
	if w.isAtPath() {
		if !full() {
			return nil
		}

		if err := os.Rename(w.path, w.path+oldAudit); err != nil {
			return err
		}
	}

	before := w.file
	if err := w.open(); err != nil {
		return err
	}

	return before.Close()
}

// isAtPath reports whether the open file is the one at the path. It learns how large the file is, into which other
// processes may write.
func (w *auditWriter) isAtPath() bool {
	here, err := w.file.Stat()
	if err != nil {
		return false
	}
	w.size = here.Size()

	there, err := os.Stat(w.path)

	return err == nil && os.SameFile(here, there)
}

// Close closes the file.
func (w *auditWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.file.Close()
}
