package reconcile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
)

// source says which list a record is from.
type source byte

const (
	fromFile     source = 't'
	fromPayments source = 'o'
	fromLedger   source = 'b'
)

// partitions are temporary files. All records of a key are in one of them.
type partitions struct {
	dir   string
	files []*os.File
	out   []*bufio.Writer
}

// storedRecord is a record in a partition: one JSON array per line.
type storedRecord [8]any

// newPartitions creates n partitions in a new directory under dir.
func newPartitions(dir string, n int) (p *partitions, err error) {
	p = &partitions{}
	if p.dir, err = os.MkdirTemp(dir, "reconcile-*"); err != nil {
		return nil, err
	}

	for i := range n {
		// 0o600: the records name payments and amounts.
		file, err := os.OpenFile(filepath.Join(p.dir, fmt.Sprint(i)), os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
		if err != nil {
			return nil, errors.Join(err, p.remove())
		}

		p.files = append(p.files, file)
		p.out = append(p.out, bufio.NewWriterSize(file, 8<<10))
	}

	return p, nil
}

// add writes a record to the partition of its key.
func (p *partitions) add(from source, r record) error {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.key)) // a hash does not fail
	out := p.out[h.Sum32()%uint32(len(p.out))]

	line, err := json.Marshal(storedRecord{string(from), r.line, r.key, r.kind, r.amount, r.currency, r.state, r.young})
	if err == nil {
		_, err = out.Write(append(line, '\n'))
	}

	return err
}

// each calls fn with the records of partition i.
func (p *partitions) each(i int, fn func(source, record)) error {
	// Written and read through one handle, so the position is set back before the read.
	if err := p.out[i].Flush(); err != nil {
		return err
	}

	if _, err := p.files[i].Seek(0, io.SeekStart); err != nil {
		return err
	}

	decoder := json.NewDecoder(bufio.NewReader(p.files[i]))
	for {
		var from string
		var r record

		line := [...]any{&from, &r.line, &r.key, &r.kind, &r.amount, &r.currency, &r.state, &r.young}
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}

		fn(source(from[0]), r)
	}
}

// remove closes and deletes the files.
func (p *partitions) remove() error {
	var err error
	for _, f := range p.files {
		err = errors.Join(err, f.Close())
	}

	return errors.Join(err, os.RemoveAll(p.dir))
}
