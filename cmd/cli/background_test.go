package cli

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ratchet/notify/webhooks"
)

// expectWithin bounds the waits of a script.
const expectWithin = 5 * time.Minute

// program runs beside a script.
type program struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu  sync.Mutex
	out bytes.Buffer // standard output and error
	new chan struct{}

	ended chan struct{}
	err   error // once ended is closed
}

// Write takes the program's output.
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	select {
	case p.new <- struct{}{}:
	default:
	}

	return p.out.Write(b)
}

func (p *program) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.out.String()
}

// until waits until the output matches, and returns the last submatch.
func (p *program) until(ts *testscript.TestScript, pattern string) string {
	rule, err := regexp.Compile("(?m)" + pattern)
	ts.Check(err)

	deadline := time.NewTimer(expectWithin)
	defer deadline.Stop()

	for {
		if found := rule.FindStringSubmatch(p.text()); found != nil {
			return found[len(found)-1]
		}

		select {
		case <-p.new:
		case <-p.ended:
			if !rule.MatchString(p.text()) {
				ts.Fatalf("%s has ended (%v) without %q: %s", p.cmd.Path, p.err, pattern, p.text())
			}
		case <-deadline.C:
			ts.Fatalf("%s: no %q in %s", p.cmd.Path, pattern, p.text())
		}
	}
}

// background NAME VARIABLE PATTERN program args... starts a program, and sets the variable to the
// pattern's match in its output. At the end of the script the program is terminated.
func background(ts *testscript.TestScript, _ bool, args []string) {
	path, err := exec.LookPath(args[3])
	ts.Check(err)

	p := &program{cmd: exec.Command(path, args[4:]...), new: make(chan struct{}, 1), ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir = scriptEnvironment(ts), ts.MkAbs(".")
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.in, err = p.cmd.StdinPipe()
	ts.Check(err)
	ts.Check(p.cmd.Start())

	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	ts.Defer(func() {
		// Not Ctrl-C: a program without a handler ignores it, as its parents do, if a shell has started the tests in the
		// background. An error: it has ended.
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		<-p.ended
	})

	values(ts).programs[args[0]] = p
	setenv(ts, args[1], p.until(ts, args[2]))
}

// tell NAME TEXT writes a line to a program.
func tell(ts *testscript.TestScript, _ bool, args []string) {
	_, err := io.WriteString(values(ts).programs[args[0]].in, args[1]+"\n")
	ts.Check(err)
}

// expect NAME PATTERN waits until a program's output matches.
func expect(ts *testscript.TestScript, _ bool, args []string) {
	values(ts).programs[args[0]].until(ts, args[1])
}

// repeat NAME PATTERN program args... runs a program again and again until the output of the program
// with the name matches.
func repeat(ts *testscript.TestScript, _ bool, args []string) {
	p, rule := values(ts).programs[args[0]], regexp.MustCompile("(?m)"+args[1])

	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()

	for deadline := time.Now().Add(expectWithin); !rule.MatchString(p.text()); <-tick.C {
		if time.Now().After(deadline) {
			ts.Fatalf("%s: no %q in %s", args[0], args[1], p.text())
		}
		ts.Check(ts.Exec(args[2], args[3:]...))
	}
}

// interrupt NAME sends Ctrl-C to a program, and waits until it has ended with success.
func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	p := values(ts).programs[args[0]]
	ts.Check(p.cmd.Process.Signal(os.Interrupt))

	select {
	case <-p.ended:
	case <-time.After(expectWithin):
		ts.Fatalf("%s goes on: %s", args[0], p.text())
	}

	if p.err != nil {
		ts.Fatalf("%s: %v: %s", args[0], p.err, p.text())
	}
}

// receiverMain receives webhooks on a free port, whose URL it prints. It reads the secret from its
// input when the first webhook has come, and prints the webhooks that it has verified.
func receiverMain() {
	keys := sync.OnceValue(func() *webhooks.Keys {
		var line string
		_, err := fmt.Scanln(&line)
		secret, parseErr := webhooks.ParseSecret(line)
		keys, keysErr := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{secret}})

		for _, err := range []error{err, parseErr, keysErr} {
			if err != nil {
				fmt.Println("receiver:", err)
				os.Exit(1)
			}
		}

		return keys
	})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println("receiver:", err)
		os.Exit(1)
	}
	fmt.Printf("receiver: http://%s\n", listener.Addr())

	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message, err := keys().Read(r, 64<<10)
		if err != nil {
			fmt.Println("refused:", err)
			http.Error(w, "unauthorized", http.StatusUnauthorized)

			return
		}
		fmt.Printf("verified %s %s %s\n", message.ID, r.Header.Get("Idempotency-Key"), message.Body)
		w.WriteHeader(http.StatusNoContent)
	})}

	fmt.Println(server.Serve(listener))
}
