package main

import (
	"os"
	"syscall"
)

// syncData waits until the file's data is on disk, as the engine's log does.
func syncData(file *os.File) error { return syscall.Fdatasync(int(file.Fd())) }
