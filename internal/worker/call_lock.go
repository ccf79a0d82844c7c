package worker

// CallLock is a mutex that is held during calls of AWS. Goroutines that wait for it count as
// idle under testing/synctest, unlike goroutines that wait for a sync.Mutex, so that calls may
// take virtual time.
type CallLock chan struct{}

func NewCallLock() CallLock { return make(CallLock, 1) }

func (l CallLock) Lock() { l <- struct{}{} }

func (l CallLock) Unlock() { <-l }
