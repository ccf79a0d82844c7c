package destination

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"ratchet/notify"
)

// fileSink appends each notification to a file as one line of JSON. A repeated message is a second
// line. Concurrent calls of Send share one write and one sync.
type fileSink struct {
	file *os.File

	mu   sync.Mutex // guards next
	next *batch

	writing sync.Mutex // held during a write
}

// batch is the lines that are written and synced together.
type batch struct {
	text bytes.Buffer
	done bool // guarded by writing, like err
	err  error
}

// OpenFile opens the file for appending and creates it if it does not exist. If a crash cut
// the last line short, the next line begins after a line break. Close the file after use.
func OpenFile(name string) (*fileSink, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the notification file: %w", err)
	}

	f := &fileSink{file: file, next: &batch{}}
	last := make([]byte, 1)
	if end, err := file.Seek(0, io.SeekEnd); err == nil && end > 0 {
		if _, err := file.ReadAt(last, end-1); err == nil && last[0] != '\n' {
			// Written together with the first line, so that opening a file does not change it.
			f.next.text.WriteByte('\n')
		}
	}

	return f, nil
}

// Send appends the notification. Its line is on disk when Send returns.
func (f *fileSink) Send(_ context.Context, m notify.Message) (notify.Answer, error) {
	line, err := json.Marshal(m.Notification)
	if err != nil {
		return notify.Answer{}, err
	}

	f.mu.Lock()
	b := f.next
	b.text.Write(append(line, '\n'))
	f.mu.Unlock()

	// The first call of the batch that gets the lock writes the batch, and the other calls of the
	// batch wait for it. Later calls fill the next batch meanwhile.
	f.writing.Lock()
	defer f.writing.Unlock()

	if !b.done {
		f.mu.Lock()
		f.next = &batch{}
		f.mu.Unlock()

		_, err := f.file.Write(b.text.Bytes())
		b.err, b.done = errors.Join(err, f.file.Sync()), true
	}

	if b.err != nil {
		return notify.Answer{}, fmt.Errorf("notify about order %s: %w", m.OrderID, b.err)
	}

	return notify.Answer{}, nil
}

// Close closes the file. Send fails afterwards.
func (f *fileSink) Close() error { return f.file.Close() }

// ReadLines returns the notifications in text, the content of a file that a fileSink has written.
// Before the call, cut off a last line without a line break: it may be incomplete.
func ReadLines(text []byte) (all []notify.Notification, err error) {
	for line := range bytes.Lines(text) {
		var n notify.Notification
		if err := json.Unmarshal(line, &n); err != nil {
			return nil, fmt.Errorf("read the notification %s: %w", line, err)
		}
		all = append(all, n)
	}

	return all, nil
}
