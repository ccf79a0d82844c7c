package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOnlyItsOwnIsRemoved: a name without the whole random prefix is never one of this check, and a prefix that a person
// has chosen takes nothing away.
func TestOnlyItsOwnIsRemoved(t *testing.T) {
	for _, c := range []struct {
		prefix, name string
		want         bool
	}{
		{"rck-0a1b2c3d-", "rck-0a1b2c3d-orders", true},
		{"rck-0a1b2c3d-", "arn:aws:states:us-east-1:1:activity:rck-0a1b2c3d-pay", true},
		{"rck-0a1b2c3d-", "https://sqs.us-east-1.amazonaws.com/1/rck-0a1b2c3d-requests", true},
		{"rck-0a1b2c3d-", "ratchet-orders", false},
		{"rck-0a1b2c3d-", "rck-ffffffff-orders", false},
		{"rck-0a1b2c3d-", "my-rck-0a1b2c3d-orders", false},
		{"ratchet-", "ratchet-orders", false},
		{"", "ratchet-orders", false},
	} {
		if got := ours(c.prefix, c.name); got != c.want {
			t.Errorf("ours(%q, %q) = %t", c.prefix, c.name, got)
		}
	}

	if a, b := newPrefix(), newPrefix(); a == b || !prefixes.MatchString(a) {
		t.Errorf("%s, %s", a, b)
	}
}

// TestNothingIsDoneUnconfirmed: with another number than the account's, or none, only the caller's identity is asked for.
func TestNothingIsDoneUnconfirmed(t *testing.T) {
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	// The test stands in for the AWS CLI: it says who calls, and notes each call.
	cli := "#!/bin/sh\necho \"$*\" >> " + calls + "\necho 123456789012\n"

	if err := os.WriteFile(filepath.Join(dir, "aws"), []byte(cli), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("AWS_REGION", "eu-west-1")

	for _, typed := range []string{"", "\n", "yes\n", "210987654321\n"} {
		var out bytes.Buffer

		err := run(t.Context(), options{program: "ratchet", orders: 1, wait: time.Second}, strings.NewReader(typed), &out)
		if err == nil || !strings.Contains(err.Error(), "not confirmed") {
			t.Errorf("typed %q: %v", typed, err)
		}

		if !strings.Contains(out.String(), "123456789012, Region eu-west-1") {
			t.Errorf("asked: %s", out.String())
		}
	}

	text, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "sts get-caller-identity") && !strings.HasPrefix(line, "configure get region") {
			t.Errorf("called: %s", line)
		}
	}

	if err := run(context.Background(), options{program: "ratchet", teardown: "ratchet-"}, strings.NewReader("123456789012\n"), &bytes.Buffer{}); err == nil {
		t.Error("a prefix of a person was taken")
	}
}

// TestWhatIsNotListedIsNotGone: a kind that could not be listed at the end is named, and the report does not say that
// nothing is left.
func TestWhatIsNotListedIsNotGone(t *testing.T) {
	dir := t.TempDir()
	// The test stands in for the AWS CLI, which has lost its connection.
	if err := os.WriteFile(filepath.Join(dir, "aws"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer
	c := &check{cloud: cloud{cli: filepath.Join(dir, "aws")}, prefix: newPrefix(), out: &out, dir: dir}

	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the queues are asked by the SDK

	if err := c.lookForRest(ctx); err == nil {
		t.Error("no error")
	}
	c.report()

	if text := out.String(); strings.Contains(text, "left behind: nothing") || !strings.Contains(text, "PERHAPS LEFT BEHIND, not listed: stack, table, queue, bucket") {
		t.Error(text)
	}
}

// TestOrdersOfYourOwnWorkflow: the flags replace what the check knows of the shop, one by one.
func TestOrdersOfYourOwnWorkflow(t *testing.T) {
	program := filepath.Join(t.TempDir(), "loan")
	// The test stands in for a program whose workflow has no items.
	if err := os.WriteFile(program, []byte("#!/bin/sh\nprintf 'name: loan\\ncontent: [customer]\\nstates:\\n'\n"), 0o700); err != nil {
		t.Fatal(err)
	}

	c := &check{options: options{program: program, orders: 20, end: "CLOSED", create: "--customer ada --metadata book=mug"}}

	o, err := c.known(t.Context())
	if err != nil || o.end != "CLOSED" || strings.Join(o.args, " ") != c.create || strings.Join(o.setup, " ") != "inventory set mug 40" {
		t.Errorf("%+v, %v", o, err)
	}

	c.options = options{program: program, setup: "accounts create fees"}
	if o, err := c.known(t.Context()); err != nil || o.end != "" || len(o.args) > 0 || len(o.setup) != 3 {
		t.Errorf("%+v, %v", o, err)
	}

	moves, err := movesOf("OVERDUE=return, LENT=renew")
	if err != nil || len(moves) != 2 || moves[0] != (move{"OVERDUE", "return"}) || moves[1] != (move{"LENT", "renew"}) {
		t.Errorf("%v, %v", moves, err)
	}

	for _, text := range []string{"OVERDUE", "=return", "OVERDUE="} {
		if _, err := movesOf(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
