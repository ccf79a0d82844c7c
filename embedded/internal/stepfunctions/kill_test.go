package stepfunctions

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"golang.org/x/sync/errgroup"
)

// killDir is the environment variable that makes the test process the victim of TestKill.
const killDir = "STEPFUNCTIONS_KILL_DIR"

// After SIGKILL in the middle of its work, everything that the engine had answered is
// there: started executions, task tokens, completions.
func TestKill(t *testing.T) {
	if dir := os.Getenv(killDir); dir != "" {
		victim(t, dir)
		return
	}

	dir := t.TempDir()
	for range 3 {
		reported := killAfter(t, dir, 150)
		b := open(t, dir)
		machine := "arn:aws:states:us-east-1:000000000000:stateMachine:m"
		for name, last := range reported.step {
			arn := strings.Replace(machine, "stateMachine:m", "execution:m:"+name, 1)
			h, err := b.GetExecutionHistory(t.Context(), &sfn.GetExecutionHistoryInput{ExecutionArn: &arn})
			if err != nil {
				t.Fatalf("%s was started: %v", name, err)
			}

			found := map[types.HistoryEventType]int{}
			for _, e := range h.Events {
				found[e.Type]++
			}

			lost := last == "done" && found[types.HistoryEventTypeActivitySucceeded] != 1
			if lost || found[types.HistoryEventTypeActivityStarted] > 1 {
				t.Errorf("%s was %s: %v", name, last, found)
			}
		}

		for name, token := range reported.tokens {
			// The victim may have completed the task without living to report it.
			err := b.succeed(aws.String(token), `"after the crash"`)
			if err != nil && (code(err) != "TaskTimedOut" || reported.step[name] != "taken") {
				t.Errorf("the token of %s: %v", name, err)
			}
		}
		b.stop()
	}
}

// report holds the lines that the victim has printed, by the name of the execution: its last step
// (started, taken, done) and the token of a task that is not done.
type report struct{ step, tokens map[string]string }

// killWhen runs a test as the victim, a process with the variable, and kills it when enough has returned
// true for a line of its output. It returns when the process has ended.
func killWhen(t *testing.T, test, variable string, enough func(line string) bool) {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+test+"$")
	cmd.Env = append(os.Environ(), variable)

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	for in := bufio.NewScanner(out); in.Scan(); {
		if enough(in.Text()) {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait() // "signal: killed"
}

// killAfter runs the victim until it has printed a number of lines, and kills it.
func killAfter(t *testing.T, dir string, lines int) report {
	t.Helper()

	r := report{step: map[string]string{}, tokens: map[string]string{}}
	n := 0
	killWhen(t, "TestKill", killDir+"="+dir, func(line string) bool {
		what, rest, _ := strings.Cut(line, " ")
		name, token, _ := strings.Cut(rest, " ")
		switch what {
		case "started":
			if r.step[name] == "" { // its task may have been taken before this line
				r.step[name] = what
			}
		case "taken":
			r.step[name], r.tokens[name] = what, token
		case "done":
			r.step[name] = what
			delete(r.tokens, name)
		}
		n++

		return n > lines
	})

	if len(r.step) == 0 {
		t.Fatal("the victim printed nothing")
	}

	return r
}

// victim starts and completes executions until it is killed, and prints each answer.
func victim(t *testing.T, dir string) {
	b := open(t, dir)

	activity := b.activity("work")
	machine := b.machine("m", task(activity, ""))
	var g errgroup.Group
	for w := range 4 {
		g.Go(func() error {
			for i := 0; ; i++ {
				name := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, i)

				_, err := b.StartExecution(context.Background(), &sfn.StartExecutionInput{
					StateMachineArn: &machine,
					Name:            &name,
					Input:           aws.String(`"` + name + `"`),
				})
				if err != nil {
					return err
				}

				fmt.Println("started", name)

				got, err := b.GetActivityTask(context.Background(), &sfn.GetActivityTaskInput{ActivityArn: &activity})
				if err != nil {
					return err
				}

				of := strings.Trim(*got.Input, `"`)
				fmt.Println("taken", of, *got.TaskToken)

				if i%3 == 2 {
					continue // keeps the token
				}

				success := &sfn.SendTaskSuccessInput{TaskToken: got.TaskToken, Output: aws.String("1")}
				if _, err := b.SendTaskSuccess(context.Background(), success); err != nil {
					return err
				}

				fmt.Println("done", of)
			}
		})
	}
	t.Fatal(g.Wait())
}
