package worker

import "context"

// CallLock is a mutex that is held during calls of AWS. Goroutines that wait for it count as
// idle under testing/synctest, unlike goroutines that wait for a sync.Mutex, so that calls may
// take virtual time.
type CallLock chan struct{}

// NewCallLock returns a lock that is free.
func NewCallLock() CallLock { return make(CallLock, 1) }

// Lock waits until the lock is free, and takes it.
func (l CallLock) Lock() { l <- struct{}{} }

// LockContext is Lock until ctx ends. Then it returns the cause of that.
func (l CallLock) LockContext(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Unlock gives the lock back.
func (l CallLock) Unlock() { <-l }
