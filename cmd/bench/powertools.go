package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

var (
	//go:embed powertools.py
	powertoolsScript string
	//go:embed powertools.txt
	powertoolsVersions string
)

// powertools is a Python interpreter that can import Powertools for AWS Lambda.
type powertools struct{ python string }

// openPowertools creates a virtual environment under .cache with the pinned versions, unless
// an earlier run has created it. It needs python3 and its package index.
func openPowertools(ctx context.Context) (*powertools, error) {
	home, err := filepath.Abs(".cache/powertools")
	if err != nil {
		return nil, err
	}

	python, installed := filepath.Join(home, "bin", "python"), filepath.Join(home, "installed.txt")
	// Other versions would make the figures of two runs incomparable.
	if have, err := os.ReadFile(installed); err == nil && string(have) == powertoolsVersions {
		return &powertools{python}, nil
	}

	for _, command := range [][]string{
		{"python3", "-m", "venv", home},
		append([]string{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, strings.Fields(powertoolsVersions)...),
	} {
		if err := prepare(command[0]+" installs Powertools below .cache", exec.CommandContext(ctx, command[0], command[1:]...)); err != nil {
			return nil, err
		}
	}

	// Written last: an interrupted installation is made again.
	return &powertools{python}, os.WriteFile(installed, []byte(powertoolsVersions), 0o600)
}

// claimed is the output of the script: how long its executions took, and the write units that they
// consumed.
type claimed struct {
	Seconds    float64 `json:"seconds"`
	WriteUnits float64 `json:"writeUnits"`
}

// run makes executions that claim a key, do nothing and complete, with that many threads.
// The keys begin with the round.
func (p *powertools) run(ctx context.Context, url string, executions, threads int, round string) (c claimed, err error) {
	// From standard input, so that no file has to be found.
	cmd := exec.CommandContext(ctx, p.python, "-W", "ignore", "-", url, claimsTable, strconv.Itoa(executions), strconv.Itoa(threads), round)
	cmd.Stdin, cmd.Stderr = strings.NewReader(powertoolsScript), os.Stderr

	out, err := cmd.Output()
	if err != nil {
		return c, fmt.Errorf("powertools: %w", err)
	}

	return c, json.Unmarshal(out, &c)
}
