package embedded

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// stall is how long the disk does not finish a sync before the power fails. Reads then see changes that are
// not on disk, and must not show them.
const stall = 2 * time.Millisecond

// stallingFS is a file system whose syncs wait for a reader's lock.
type stallingFS struct {
	*vfs.MemFS
	gate *sync.RWMutex
}

func (s stallingFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := s.MemFS.Create(name, category)
	return stallingFile{file, s.gate}, err
}

func (s stallingFS) ReuseForWrite(oldName, newName string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := s.MemFS.ReuseForWrite(oldName, newName, category)
	return stallingFile{file, s.gate}, err
}

type stallingFile struct {
	vfs.File
	gate *sync.RWMutex
}

func (s stallingFile) SyncData() error {
	s.gate.RLock()
	defer s.gate.RUnlock()

	return s.File.SyncData()
}
