//go:build !linux

package main

import "os"

// syncData waits until the file is on disk.
func syncData(file *os.File) error { return file.Sync() }
