//go:build judges

package judges

import (
	"encoding/json"
	"regexp"
	"strings"
)

// outcome is what became of one test.
type outcome struct {
	test, status string
}

const (
	passed  = "passed"
	failed  = "failed"
	skipped = "skipped"
)

// readGo reads the events of `go test -json`. A subtest counts, and so does the test that has it.
func readGo(output string) (all []outcome) {
	statuses := map[string]string{"pass": passed, "fail": failed, "skip": skipped}

	for line := range strings.Lines(output) {
		var event struct{ Action, Test string }
		if json.Unmarshal([]byte(line), &event) != nil || event.Test == "" {
			continue
		}

		if status := statuses[event.Action]; status != "" {
			all = append(all, outcome{test: event.Test, status: status})
		}
	}

	return all
}

// readMocha reads mocha's JSON, which follows what the tests print.
func readMocha(output string) (all []outcome) {
	type test struct{ FullTitle string }

	var report struct{ Passes, Failures, Pending []test }

	start := strings.Index(output, "{\n  \"stats\"")
	if start < 0 || json.NewDecoder(strings.NewReader(output[start:])).Decode(&report) != nil {
		return nil
	}

	for status, tests := range map[string][]test{passed: report.Passes, failed: report.Failures, skipped: report.Pending} {
		for _, t := range tests {
			all = append(all, outcome{test: t.FullTitle, status: status})
		}
	}

	return all
}

// readJest reads jest's JSON, one line of what it prints.
func readJest(output string) (all []outcome) {
	var report struct {
		TestResults []struct {
			AssertionResults []struct{ FullName, Status string }
		}
	}

	start := strings.Index(output, `{"num`)
	if start < 0 || json.NewDecoder(strings.NewReader(output[start:])).Decode(&report) != nil {
		return nil
	}

	for _, file := range report.TestResults {
		for _, t := range file.AssertionResults {
			status := t.Status
			if status != passed && status != failed {
				status = skipped
			}

			all = append(all, outcome{test: t.FullName, status: status})
		}
	}

	return all
}

var tapLine = regexp.MustCompile(`(?m)^(not )?ok \d+ - (.*?)(# (?:SKIP|TODO).*)?$`)

// readTAP reads lines of the Test Anything Protocol.
func readTAP(output string) (all []outcome) {
	for _, m := range tapLine.FindAllStringSubmatch(output, -1) {
		status := passed
		switch {
		case m[3] != "":
			status = skipped
		case m[1] != "":
			status = failed
		}

		all = append(all, outcome{test: m[2], status: status})
	}

	return all
}
