package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// cloud is where the check runs.
type cloud struct {
	cli string // the AWS CLI
	// account says that it is AWS itself. Elsewhere some parts cannot be shown.
	account bool
	name    string
}

// check is one run.
type check struct {
	options
	cloud  cloud
	dir    string // for templates and logs
	prefix string
	out    io.Writer
	began  time.Time
	moves  []move // of -apply

	shown   []string // the parts that ran
	unshown []string // the parts that only an account can show
	left    []string // what could not be taken away
	unknown []string // the kinds that could not be listed at the end
	cost    string
}

var prefixes = regexp.MustCompile(`^rck-[0-9a-f]{8}-$`)

// newPrefix returns a prefix that no other check has.
func newPrefix() string {
	random := make([]byte, 4)
	_, _ = rand.Read(random) // never fails

	return "rck-" + hex.EncodeToString(random) + "-"
}

// ours reports whether a name, ARN or URL is of something that this check has created. Nothing else is removed.
func ours(prefix, name string) bool {
	return prefixes.MatchString(prefix) && strings.HasPrefix(name[strings.LastIndexAny(name, "/:")+1:], prefix)
}

// steps are the parts of the check, in the order of docs/operate/deploy.md.
func (c *check) steps(ctx context.Context) error {
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"templates written by the program, deployed as stacks", c.deployStacks},
		{"orders run by two workers, one killed with -9 in the middle", c.runOrders},
		{"no execution has failed", c.executions},
		{"every order agrees with its journal (verify)", c.verify},
		{"nothing is set up wrongly (doctor)", c.doctor},
		{"no alarm fires", c.alarms},
	}

	for _, step := range steps {
		began := time.Now()

		if err := step.do(ctx); errors.Is(err, errOnlyAccount) {
			c.unshown = append(c.unshown, step.name+": "+err.Error())
			continue
		} else if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}

		c.shown = append(c.shown, step.name)
		fmt.Fprintf(c.out, "ok: %s (%s)\n", step.name, time.Since(began).Round(time.Second))
	}

	return nil
}

// errOnlyAccount means that an implementation lacks what a step looks at.
var errOnlyAccount = errors.New("only an account can show it")

// aws runs the AWS CLI and returns what it prints.
func (c *check) aws(ctx context.Context, args ...string) (string, error) {
	return c.command(ctx, c.cloud.cli, args...)
}

// ratchet runs the program with the settings of the stack.
func (c *check) ratchet(ctx context.Context, args ...string) (string, error) {
	return c.command(ctx, c.program, args...)
}

func (c *check) command(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), c.settings()...)

	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this check, which still has to take things away

	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems

	if err := cmd.Run(); ctx.Err() != nil {
		return out.String(), context.Cause(ctx) // such as Ctrl-C
	} else if err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, lastLines(problems.String(), 5))
	}

	return strings.TrimSpace(out.String()), nil
}

// settings are those of every process of the program. The templates have the tables of the lists and the queue.
func (c *check) settings() []string {
	return []string{
		"RATCHET_PREFIX=" + c.prefix, "RATCHET_ORDER_LISTS=true", "RATCHET_REQUESTS_QUEUE=" + c.prefix + "requests",
		"RATCHET_BANK=sandbox", "RATCHET_CARRIER=sandbox", "RATCHET_CARRIER_DELAY=1s", "RATCHET_NOTIFY=none",
		"RATCHET_DATA=" + filepath.Join(c.dir, "data"), "AWS_PAGER=",
	}
}

// list returns the texts of a query that the CLI answers as JSON.
func (c *check) list(ctx context.Context, args ...string) (all []string, err error) {
	out, err := c.aws(ctx, append(args, "--output", "json")...)
	if err != nil || out == "" || out == "null" {
		return nil, err
	}

	return all, json.Unmarshal([]byte(out), &all)
}

// lastLines returns the end of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")

	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
