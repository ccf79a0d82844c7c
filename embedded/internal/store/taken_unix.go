//go:build !windows

package store

import "syscall"

// taken is the error of the lock file that another process has locked.
const taken = syscall.EAGAIN
