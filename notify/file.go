package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// File appends each notification to a file as one line of JSON. A line is on disk when
// Send returns; many senders share one flush. It honours no key: a line may appear
// twice after a crash, under the same key.
type File struct {
	file *os.File

	mu   sync.Mutex // guards next
	next *lines

	flush sync.Mutex // held by who writes
}

// lines are written and synced together.
type lines struct {
	text bytes.Buffer
	done bool // guarded by flush
	err  error
}

// OpenFile opens the file for appending and creates it when it does not exist. A line
// that a crash cut short is closed, so that the next one stands alone.
func OpenFile(name string) (*File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the notification file: %w", err)
	}

	s := &File{file: f, next: &lines{}}
	last := make([]byte, 1)
	if end, err := f.Seek(0, io.SeekEnd); err == nil && end > 0 {
		if _, err := f.ReadAt(last, end-1); err == nil && last[0] != '\n' {
			s.next.text.WriteByte('\n')
		}
	}

	return s, nil
}

// Send appends the notification.
func (s *File) Send(_ context.Context, n Notification) error {
	line, err := json.Marshal(n)
	if err != nil {
		return err
	}
	s.mu.Lock()
	mine := s.next
	mine.text.Write(append(line, '\n'))
	s.mu.Unlock()
	s.flush.Lock()
	defer s.flush.Unlock()

	if !mine.done {
		s.mu.Lock()
		s.next = &lines{}
		s.mu.Unlock()
		_, err := s.file.Write(mine.text.Bytes())
		mine.err, mine.done = errors.Join(err, s.file.Sync()), true
	}

	if mine.err != nil {
		return fmt.Errorf("notify about order %s: %w", n.OrderID, mine.err)
	}

	return nil
}

// Close closes the file. Sending afterwards fails.
func (s *File) Close() error { return s.file.Close() }
