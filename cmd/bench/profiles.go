package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profiled calls measure and writes profiles of its processor time and its allocations into the folder. Without a folder it
// only calls it.
func profiled(folder string, measure func() error) (err error) {
	if folder == "" {
		return measure()
	}

	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}

	cpu, err := os.Create(filepath.Join(folder, "cpu.out"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cpu.Close()) }()

	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	err = measure()
	pprof.StopCPUProfile()

	return errors.Join(err, writeAllocations(filepath.Join(folder, "allocs.out")))
}

func writeAllocations(name string) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	return pprof.Lookup("allocs").WriteTo(file, 0)
}
