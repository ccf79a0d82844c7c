package clock

import (
	"syscall"
	"time"
	"unsafe"
)

// Clocks of Linux: the monotonic one stands while the machine sleeps, the other does not.
const (
	clockMonotonic = 1
	clockBoottime  = 7
)

// asleepFor returns how long the machine has been asleep since it was started.
func asleepFor() time.Duration { return readClock(clockBoottime) - readClock(clockMonotonic) }

func readClock(id uintptr) time.Duration {
	var t syscall.Timespec
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&t)), 0); err != 0 { //nolint:gosec // the form that the call needs
		return 0
	}

	return time.Duration(t.Nano())
}
