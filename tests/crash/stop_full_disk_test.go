//go:build linux

package crash

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ratchet/tests/program"
)

// smallDisk mounts a file system in memory, and returns its directory. It skips the test where that is not allowed.
func smallDisk(t *testing.T, size string) string {
	t.Helper()

	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("SKIPPED: a small disk needs the right to mount: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})

	return dir
}

// fill leaves no byte free on the disk, and returns the function that makes room again.
func fill(t *testing.T, dir string) (room func()) {
	t.Helper()

	name := filepath.Join(dir, "filler")

	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}

	return func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}

// TestAStopOnAFullDisk: a process whose disk has no byte left refuses changes, is not ready, and ends within its grace with
// status 0; one that is started there ends by itself or at its first signal. What was stored is there afterwards.
func TestAStopOnAFullDisk(t *testing.T) {
	t.Parallel()

	disk, dir := smallDisk(t, "256m"), t.TempDir()
	start := func(name string) *program.Process {
		return program.Process{
			Bin: program.Self(t, "ratchet"), Dir: dir, Name: name,
			Args: []string{"dev", "--json", "--data", filepath.Join(disk, "data"), "--listen", "127.0.0.1:0", "--api-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"},
		}.Start(t)
	}
	up := func(p *program.Process) busy {
		var at banner
		if line := p.FirstLine(t); json.Unmarshal([]byte(line), &at) != nil || at.Admin == "" {
			t.Fatalf("the first line: %s", line)
		}

		return busy{t, at, make(chan string, 100)}
	}
	ended := func(what string, p *program.Process, want int) {
		began := time.Now()
		status := p.Terminate(t)

		t.Logf("%s: status %d within %v", what, status, time.Since(began).Round(time.Millisecond))

		if took := time.Since(began); took > grace || status != want {
			t.Errorf("%s: status %d after %v", what, status, took)
		}
	}
	const order, body = "/v1/orders/o-1", `{"items":[],"total":{"amount":5,"currency":"EUR"},"execution":"none"}`

	first := start("first")
	b := up(first)
	b.do(http.MethodPut, order, body)

	room := fill(t, disk)
	b.until("a refusal", func() bool {
		status, text := b.ask(http.MethodPut, b.at.API+"/v1/orders/o-2", body)
		return status == http.StatusServiceUnavailable && strings.Contains(text, "disk_full")
	})
	b.until("not ready", func() bool {
		status, _ := b.ask(http.MethodGet, b.at.Admin+"/readyz", "")
		return status == http.StatusServiceUnavailable
	})
	ended("filled while it ran", first, 0)

	second := start("second")
	if line, up := second.Line(t); up {
		ended("started on a full disk: "+line, second, 0)
	} else if status := second.Wait(t); status != 1 {
		t.Errorf("started on a full disk: status %d", status)
	}

	if log, err := os.Stat(second.Log()); err != nil || log.Size() > 1<<20 {
		t.Errorf("the log of a start on a full disk: %v, %v", log, err)
	}

	room()

	third := start("third")
	b = up(third)

	if status, text := b.ask(http.MethodGet, b.at.API+order, ""); status != http.StatusOK {
		t.Errorf("what was stored: %d %s", status, text)
	}
	b.do(http.MethodPut, "/v1/orders/o-3", body)
	ended("with room", third, 0)
}
