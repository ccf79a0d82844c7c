//go:build judges

package judges

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"ratchet/tests/program"
)

const home = "../../.cache/judges"

// TestJudges runs the suites one after the other, each on an engine of its own, and prints their counts.
func TestJudges(t *testing.T) {
	home, here := install(t)
	bin := program.Build(t)

	var report strings.Builder
	table := tabwriter.NewWriter(&report, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "suite\tpassed\tfailed\tof them known\tskipped")

	for _, s := range suites(home, here) {
		t.Run(s.library, func(t *testing.T) {
			output := s.run(t, home, startDev(t, bin))
			c := s.count(t, s.read(output))
			fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\n", s.library, c.passed, c.failed, c.known, c.skipped)

			if t.Failed() {
				t.Logf("the end of what it printed:\n%s", output[max(0, len(output)-8000):])
			}
		})
	}

	_ = table.Flush()

	for _, library := range slices.Sorted(maps.Keys(absent)) {
		fmt.Fprintf(&report, "NOT run: %s: %s\n", library, absent[library])
	}

	fmt.Print("\n", report.String(), "\n")
}

// counts are the numbers of a suite's tests by outcome. Known failures are among the failed.
type counts struct {
	passed, failed, known, skipped int
}

// count counts outcomes and compares them with what is expected of the suite.
func (s suite) count(t *testing.T, all []outcome) (c counts) {
	t.Helper()

	for _, o := range all {
		switch _, known := s.failures[o.test]; {
		case o.status == failed && known:
			c.failed++
			c.known++
		case o.status == failed:
			c.failed++
			t.Errorf("failed: %s", o.test)
		case known:
			t.Errorf("%s %s, and is listed as a failure: %s", o.test, o.status, s.failures[o.test])
		case o.status == skipped:
			c.skipped++
		default:
			c.passed++
		}
	}

	if c.passed != s.passed || c.skipped != s.skipped || c.known != len(s.failures) {
		t.Errorf("%d passed, %d known failures and %d skipped, not %d, %d and %d", c.passed, c.known, c.skipped, s.passed, len(s.failures), s.skipped)
	}

	return c
}

// run runs the suite on the engine at endpoint and returns what it prints. Its exit status says no more than its counts.
func (s suite) run(t *testing.T, home, endpoint string) string {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), s.command[0], s.command[1:]...)
	cmd.Dir = filepath.Join(home, s.dir)
	cmd.Env = append(os.Environ(), "ENDPOINT="+endpoint, "ADDRESS="+strings.TrimPrefix(endpoint, "http://"),
		"AWS_ENDPOINT_URL="+endpoint, "DYNAMO_TEST_ENDPOINT="+endpoint, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true", "PATH="+filepath.Join(home, "bin")+":"+os.Getenv("PATH"),
		"CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOWORK=off")
	cmd.Env = append(cmd.Env, s.env...)

	var errors strings.Builder
	cmd.Stderr = &errors

	output, err := cmd.Output()
	if err != nil {
		t.Logf("%v; the end of its errors:\n%s", err, errors.String()[max(0, errors.Len()-3000):])
	}

	return string(output)
}

// install fetches the suites, once, and returns their folder and that of this package.
func install(t *testing.T) (suites, here string) {
	t.Helper()

	suites, err := filepath.Abs(home)
	if err != nil {
		t.Fatal(err)
	}

	here, err = filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}

	setup := exec.CommandContext(t.Context(), "bash", "setup.sh", suites)
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	return suites, here
}

// startDev runs `ratchet dev` until the test ends and returns the engine's endpoint.
func startDev(t *testing.T, bin string) string {
	t.Helper()

	dir := t.TempDir()
	dev := program.Process{
		Bin:  bin,
		Args: []string{"dev", "--json", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--notify", "none"},
		Dir:  dir, Name: "dev",
	}.Start(t)

	return dev.Endpoint(t)
}
