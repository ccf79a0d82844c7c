package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const consoleStarts = 60 // of each program and command

// withoutConsole is the package of the console, without pages.
const withoutConsole = `package console

import (
	"log/slog"
	"net/http"

	"ratchet/api"
	"ratchet/console/session"
)

const Path = "/console"

type Config struct {
	API      http.Handler
	Identify func(r *http.Request) (by api.Identity, known bool)
	Login    *session.Login
	Sample   bool
	Log      *slog.Logger
	Draining <-chan struct{}
}

func New(Config) (http.Handler, error) { return http.NotFoundHandler(), nil }
`

// benchConsoleCost builds the program with and without the pages of the console, as a release is built, and compares their sizes and the
// starts of commands that have nothing to do with it. It runs at the root of the repository.
func benchConsoleCost(ctx context.Context, work size) ([]figure, error) {
	starts := consoleStarts
	if work.short() {
		starts /= 10
	}

	return onDisk(func(dir string) ([]figure, error) { return consoleCost(ctx, dir, starts) })
}

func consoleCost(ctx context.Context, dir string, starts int) (figures []figure, err error) {
	overlay, err := overlayWithoutConsole(dir)
	if err != nil {
		return nil, err
	}

	with, without := filepath.Join(dir, "with"), filepath.Join(dir, "without")
	for program, more := range map[string][]string{with: nil, without: {"-overlay", overlay}} {
		if err := buildStripped(ctx, program, more...); err != nil {
			return nil, err
		}
	}

	grown, err := sizeDifference(with, without)
	if err != nil {
		return nil, err
	}
	figures = append(figures, figure{"console_binary_mb", grown, "MB", "that the stripped program has more with the console; goal: at most 6"})

	for _, args := range [][]string{{"version"}, {"orders", "--help"}} {
		name := strings.ReplaceAll(strings.Join(args, "_"), "-", "")

		more, err := compareStarts(ctx, with, without, starts, args)
		if err != nil {
			return figures, err
		}
		figures = append(figures,
			figure{"console_start_cpu_ms_" + name, more.cpu, "ms", "processor time that a start takes more with the console; goal: less than 2"},
			figure{"console_start_ms_" + name, more.took, "ms", "the same in time"},
		)
	}

	return figures, nil
}

// overlayWithoutConsole writes an overlay for go build that replaces the files of the console.
func overlayWithoutConsole(dir string) (overlay string, err error) {
	files, err := filepath.Glob(filepath.Join("console", "*.go"))
	if err != nil || len(files) == 0 {
		return "", errors.Join(err, errors.New("package console is not here: the part runs at the root of the repository"))
	}

	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	stub := filepath.Join(dir, "stub.go")
	replace := map[string]string{}

	for _, name := range files {
		replace[name] = "" // it does not exist
	}
	replace[filepath.Join("console", "console.go")] = stub

	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")

	return overlay, errors.Join(os.WriteFile(stub, []byte(withoutConsole), 0o600), os.WriteFile(overlay, text, 0o600))
}

// buildStripped builds the program as a release has it (STATIC in the Makefile).
func buildStripped(ctx context.Context, program string, more ...string) error {
	args := append([]string{"build", "-buildvcs=false", "-trimpath", "-tags", "grpcnotrace", "-ldflags", "-s -w -buildid=", "-o", program}, more...)
	build := exec.CommandContext(ctx, "go", append(args, "./cmd/ratchet")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")

	return prepare("go builds a program as a release has it", build)
}

// sizeDifference is how many MB the first program has more.
func sizeDifference(with, without string) (float64, error) {
	a, err := os.Stat(with)
	if err != nil {
		return 0, err
	}

	b, err := os.Stat(without)
	if err != nil {
		return 0, err
	}

	return float64(a.Size()-b.Size()) / (1000 * kilobyte), nil
}

// startCost is what a start takes, in ms.
type startCost struct{ cpu, took float64 }

// compareStarts starts both programs in turns, and returns the difference of the medians.
func compareStarts(ctx context.Context, with, without string, starts int, args []string) (more startCost, err error) {
	seen := map[string][2][]float64{}

	for range starts {
		for _, program := range []string{with, without} {
			cost, err := startOnce(ctx, program, args)
			if err != nil {
				return more, err
			}
			seen[program] = [2][]float64{append(seen[program][0], cost.cpu), append(seen[program][1], cost.took)}
		}
	}
	a, b := seen[with], seen[without]

	return startCost{median(a[0]) - median(b[0]), median(a[1]) - median(b[1])}, nil
}

func startOnce(ctx context.Context, program string, args []string) (startCost, error) {
	command := exec.CommandContext(ctx, program, args...)
	began := time.Now()

	if out, err := command.CombinedOutput(); err != nil {
		return startCost{}, fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	took, used := time.Since(began), command.ProcessState

	return startCost{rushMillis(used.UserTime() + used.SystemTime()), rushMillis(took)}, nil
}
