package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// processUse is what processes have used since they began. It needs Linux's /proc; elsewhere it is zero.
type processUse struct {
	// cpu is their processor time, and waited the time that their threads were ready to run without a processor.
	cpu, waited time.Duration
	// written is how many bytes they have made the disk write. A file system in memory counts none.
	written int64
}

// since returns what was used after the earlier moment.
func (u processUse) since(earlier processUse) processUse {
	return processUse{cpu: u.cpu - earlier.cpu, waited: u.waited - earlier.waited, written: u.written - earlier.written}
}

// useOfGroup returns what the processes of the group have used.
func useOfGroup(group int) (all processUse) {
	entries, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, entry := range entries {
		if fields := statFields(entry); len(fields) > 2 && fields[2] == strconv.Itoa(group) {
			all.add(useOf(filepath.Base(filepath.Dir(entry))))
		}
	}

	return all
}

// useOf returns what a process has used, zero if it has ended.
func useOf(process string) (u processUse) {
	folder := "/proc/" + process
	if fields := statFields(folder + "/stat"); len(fields) > 12 {
		user, _ := strconv.ParseInt(fields[11], 10, 64)
		system, _ := strconv.ParseInt(fields[12], 10, 64)
		u.cpu = time.Duration(user+system) * 10 * time.Millisecond // ticks of 1/100 s on Linux
	}

	counts, _ := os.ReadFile(folder + "/io")
	for line := range strings.Lines(string(counts)) {
		_, _ = fmt.Sscanf(line, "write_bytes: %d", &u.written)
	}

	threads, _ := filepath.Glob(folder + "/task/*/schedstat")
	for _, thread := range threads {
		var running, waiting int64
		text, _ := os.ReadFile(thread)
		_, _ = fmt.Sscan(string(text), &running, &waiting)
		u.waited += time.Duration(waiting)
	}

	return u
}

// add adds what another process has used.
func (u *processUse) add(other processUse) {
	u.cpu, u.waited, u.written = u.cpu+other.cpu, u.waited+other.waited, u.written+other.written
}

// statFields returns the fields of a process's stat from the third one on, none if it has ended.
func statFields(file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	// The name of the program is in parentheses and may contain spaces.
	_, rest, _ := strings.Cut(string(text), ") ")

	return strings.Fields(rest)
}

// diskFlushes returns how often the disks of this machine were made to keep what they had, for all processes. A sync of a file
// is one such flush, or less if syncs meet.
func diskFlushes() (all int64) {
	text, _ := os.ReadFile("/proc/diskstats")
	for line := range strings.Lines(string(text)) {
		// Source: https://www.kernel.org/doc/Documentation/ABI/testing/procfs-diskstats
		if fields := strings.Fields(line); len(fields) > 18 {
			flushes, _ := strconv.ParseInt(fields[18], 10, 64)
			all += flushes
		}
	}

	return all
}

// folderSize returns the bytes of all files below the folder, as the disk has them.
func folderSize(folder string) (all int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry os.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a file that has gone meanwhile takes no room
		}

		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			all += info.Size()
		}

		return nil
	})

	return all
}
