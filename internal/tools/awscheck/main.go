// Command awscheck deploys this program by its own templates, runs orders there while a worker is killed, and takes
// everything away again:
//
//	go run ./internal/tools/awscheck                      in your AWS account, after you have typed its number
//	go run ./internal/tools/awscheck -local .cache        on independent implementations of AWS, without an account
//	go run ./internal/tools/awscheck -teardown PREFIX     take away what an earlier call left behind
//
// With -program it does so with your own program. -create, -apply and -end say which orders fit its workflow.
//
// Everything that it creates has a random prefix, and it removes nothing without that prefix. It uses the AWS CLI, by
// the commands that docs/operate/deploy.md has, with the credentials that the CLI finds. At its end, also after Ctrl-C, it
// lists which parts ran, which only an account can show, what is left, and what it cost.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	program  string
	local    string
	teardown string
	orders   int
	wait     time.Duration

	// For a program with its own workflow.
	setup, create, apply, end string
}

func main() {
	var o options
	flag.StringVar(&o.program, "program", "bin/ratchet", "the program, as `make build` makes it")
	flag.StringVar(&o.local, "local", "", "run on independent implementations, which are installed below this `folder`")
	flag.StringVar(&o.teardown, "teardown", "", "only take away what has this `prefix`, left by an earlier call")
	flag.IntVar(&o.orders, "orders", 20, "how many orders to run")
	flag.DurationVar(&o.wait, "wait", 10*time.Minute, "how long orders and alarms may take")
	flag.StringVar(&o.setup, "setup", "", "a `command` of the program before the orders (default \"inventory set mug\" with twice as many as orders)")
	flag.StringVar(&o.create, "create", "", "the `arguments` of orders create behind the id, like \"--customer ada --metadata topic=invoice\" (default what the shop needs)")
	flag.Func("apply", "what others do, as `STATE=EVENT,...`: the check applies EVENT to each order that is in STATE; repeat it for more", func(text string) error {
		o.apply += "," + text
		return nil
	})
	flag.StringVar(&o.end, "end", "", "the `state` in which the orders end (default DELIVERED of the shop, otherwise they only have to be placed)")
	flag.Parse()

	// The first signal ends the check, and takes everything away. What takes away does not listen to signals.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if err := run(ctx, o, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "aws-check:", err)
		os.Exit(1)
	}
}

// run is the whole check.
func run(ctx context.Context, o options, in io.Reader, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "aws-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	c := &check{options: o, dir: dir, out: out, began: time.Now(), prefix: newPrefix()}
	if c.program, err = filepath.Abs(o.program); err != nil {
		return err
	}

	if c.moves, err = movesOf(o.apply); err != nil {
		return err
	}

	if o.teardown != "" {
		if c.prefix = o.teardown; !ours(c.prefix, c.prefix) {
			return fmt.Errorf("teardown %q: a prefix as this command makes it, like %s", o.teardown, newPrefix())
		}
	}

	if o.local == "" {
		c.cloud = cloud{cli: "aws", account: true}
	} else {
		fmt.Fprintln(out, "installing and starting independent implementations of AWS")

		implementations, err := startLocal(ctx, o.local, dir)
		if err != nil {
			return fmt.Errorf("NOTHING was tried: %w", err)
		}
		defer func() { err = errors.Join(err, implementations.stop()) }()
		c.cloud = implementations.cloud

		// For this process and for those that it starts.
		for name, value := range implementations.environment {
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
	}

	if err := c.confirm(ctx, in); err != nil {
		return err
	}

	if o.teardown == "" {
		if err = c.steps(ctx); err != nil {
			fmt.Fprintln(out, "FAILED:", err)
		}
	}

	// A signal has ended ctx, and everything is taken away all the same.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
	defer cancel()

	err = errors.Join(err, c.takeAway(ending))
	c.report()

	return err
}

// confirm says what will happen, and wants the number of the account to be typed. Without an account nothing is asked.
func (c *check) confirm(ctx context.Context, in io.Reader) error {
	if !c.cloud.account {
		return nil
	}

	account, err := c.aws(ctx, "sts", "get-caller-identity", "--query", "Account", "--output", "text")
	if err != nil {
		return fmt.Errorf("no credentials: %w", err)
	}

	region, err := c.aws(ctx, "configure", "get", "region")
	if err != nil && os.Getenv("AWS_REGION") == "" {
		return fmt.Errorf("no Region: set AWS_REGION: %w", err)
	}

	what := "creates three stacks and a bucket, runs orders, and takes everything away again"
	if c.teardown != "" {
		what = "takes away everything"
	}
	fmt.Fprintf(c.out, "In the account %s, Region %s, this %s. All names begin with %s.\nIt costs less than a dollar. Type the number of the account to go on: ",
		account, firstOf(os.Getenv("AWS_REGION"), region), what, c.prefix)

	typed, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}

	if strings.TrimSpace(typed) != account {
		return errors.New("not confirmed: nothing was created or removed")
	}

	return nil
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}

	return ""
}
