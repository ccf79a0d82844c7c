//go:build unix

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/server"
)

// failingDisk has the data directory in the environment of the process whose disk fails.
const failingDisk = "TEST_OF_A_FAILING_DISK"

// TestAFailingDiskEndsDevWithOneLine: the line names the failure, the place and the remedy. The
// call that needed the disk is not answered.
func TestAFailingDiskEndsDevWithOneLine(t *testing.T) {
	if dir := os.Getenv(failingDisk); dir != "" {
		devOnFailingDisk(dir)
		return
	}

	dir := filepath.Join(t.TempDir(), "data")
	process := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	process.Env = append(os.Environ(), failingDisk+"="+dir)

	var said strings.Builder
	process.Stderr = &said

	in, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)

	url := ""
	for lines.Scan() && url == "" {
		if at := strings.Index(lines.Text(), "http://127.0.0.1:"); at >= 0 {
			url, _, _ = strings.Cut(lines.Text()[at:]+" ", " ")
		}
	}

	_, err = io.WriteString(in, "\n")
	for err == nil && lines.Scan() && lines.Text() != "no write succeeds" {
		continue
	}

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"QueueName":"q"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Amz-Target", "AmazonSQS.CreateQueue")

	if response, err := http.DefaultClient.Do(request); err == nil {
		t.Errorf("the call is answered with %s", response.Status)
		response.Body.Close()
	}
	_, _ = io.Copy(io.Discard, out)

	var ended *exec.ExitError
	if err := process.Wait(); !errors.As(err, &ended) || ended.ExitCode() != exit.Failure {
		t.Errorf("the process ends with %v", err)
	}

	line := strings.TrimSuffix(said.String(), "\n")
	for _, part := range []string{"ratchet: store in " + dir + " failed: ", syscall.EFBIG.Error(), "what was answered is on disk", "Start it again when the disk works"} {
		if !strings.Contains(line, part) {
			t.Errorf("it does not say %q", part)
		}
	}

	if strings.Contains(line, "\n") || t.Failed() {
		t.Errorf("it says %s", line)
	}
}

// devOnFailingDisk is a "ratchet dev" whose files refuse every write after it has read a line.
func devOnFailingDisk(dir string) {
	signal.Ignore(syscall.SIGXFSZ)

	go func() {
		_, _ = fmt.Scanln()

		if syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{}) == nil {
			fmt.Println("no write succeeds")
		}
	}()

	os.Args = []string{"ratchet", "dev", "--data", dir, "--listen", "127.0.0.1:0", "--admin-listen", "off", "--log-level", "error"}
	Main(server.Parts{})
}
