package streams

// callLock is a mutex that is held during calls of AWS. Goroutines that wait for it count as
// idle under testing/synctest, unlike goroutines that wait for a sync.Mutex, so that calls may
// take virtual time.
type callLock chan struct{}

func newCallLock() callLock { return make(callLock, 1) }

func (l callLock) lock() { l <- struct{}{} }

func (l callLock) unlock() { <-l }
