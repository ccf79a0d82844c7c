package store

import "syscall"

// taken is the error of the lock file that another process has open: ERROR_SHARING_VIOLATION.
const taken = syscall.Errno(32)
