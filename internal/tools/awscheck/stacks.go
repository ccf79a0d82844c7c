package main

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
)

// stack is a stack of the check.
type stack struct {
	name, template string
	parameters     []string
}

// stacks are what a team deploys before its services.
func (c *check) stacks() []stack {
	return []stack{
		{"core", "core.yaml", []string{"Sandbox=true"}},
		{"access", "access.yaml", []string{"Sandbox=true", "Compute=ec2"}},
		{"alarms", "alarms.yaml", nil},
	}
}

func (c *check) bucket() string { return c.prefix + "templates" }

// deployStacks writes the templates of the program, and deploys them.
func (c *check) deployStacks(ctx context.Context) error {
	dir := filepath.Join(c.dir, "deploy")
	// The prefix is a parameter of the templates: the queue has it there.
	if _, err := c.ratchet(ctx, "deploy", "cloudformation", "--prefix", "ratchet-", "--requests-queue", "ratchet-requests", "--out", dir); err != nil {
		return err
	}

	if _, err := c.aws(ctx, "s3", "mb", "s3://"+c.bucket()); err != nil {
		return err
	}

	// The CLI asks only every 30 s whether a stack is there, so all are deployed at once. None needs another one.
	return c.each(func(s stack) error { return c.deploy(ctx, dir, s) })
}

// each does something with every stack at the same time.
func (c *check) each(do func(stack) error) error {
	all := c.stacks()
	failed := make([]error, len(all))

	var group sync.WaitGroup
	for i, s := range all {
		group.Go(func() { failed[i] = do(s) })
	}
	group.Wait()

	return errors.Join(failed...)
}

// deploy deploys a stack, by the commands of docs/operate/deploy.md.
func (c *check) deploy(ctx context.Context, dir string, s stack) error {
	packaged := filepath.Join(dir, s.name+".packaged.yaml")
	if _, err := c.aws(ctx, "cloudformation", "package", "--template-file", filepath.Join(dir, s.template),
		"--s3-bucket", c.bucket(), "--output-template-file", packaged); err != nil {
		return err
	}

	args := []string{
		"cloudformation", "deploy", "--stack-name", c.prefix + s.name, "--template-file", packaged,
		"--s3-bucket", c.bucket(), "--capabilities", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND",
		"--parameter-overrides", "Prefix=" + c.prefix,
	}
	_, err := c.aws(ctx, append(args, s.parameters...)...)

	return err
}
