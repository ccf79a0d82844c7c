package poller

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ratchet/internal/dynamo"
	"ratchet/streams"
	"ratchet/streams/lanes"
	"ratchet/streams/leases"
)

// The environment of a process that is a worker: the endpoint of the engine, and how a record of the
// item poison ends the process.
const (
	processEndpoint = "STREAMS_TEST_ENDPOINT"
	processDeath    = "STREAMS_TEST_DEATH"

	poison = "o-poison"
)

// runWorkerProcess is the worker until its standard input ends. It prints the handler, item and version
// of each record that it has handled. The first version of the item poison ends it.
func runWorkerProcess(endpoint string) int {
	cfg := aws.Config{Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("key", "secret", "")}
	env := &testEnv{db: dynamodb.NewFromConfig(cfg)}

	var output sync.Mutex
	handled := func(_ context.Context, r streams.Record) error {
		output.Lock()
		defer output.Unlock()

		id, version := keyAndVersion(r)
		fmt.Println(r.Handler, id, version)

		return nil
	}
	handle := func(ctx context.Context, r streams.Record) error {
		// Calls overlap, and so do the deaths of one with the others.
		time.Sleep(2 * time.Millisecond)

		if id, version := keyAndVersion(r); id != poison || version != 1 {
			return handled(ctx, r)
		}

		if os.Getenv(processDeath) == "exit" {
			os.Exit(3)
		}

		go panic("a handler's goroutine")
		<-ctx.Done()

		return ctx.Err()
	}

	poller, err := New(env.shortConfig(dynamodbstreams.NewFromConfig(cfg), handle, func(c *Config) {
		c.LeaseDuration = 500 * time.Millisecond
		c.Handlers = append(c.Handlers, streams.Handler{Name: "beside", Handle: handled})
	}))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}

	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()

	if err := poller.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}

	return 0
}

// workerProcess is a worker that the test has started.
type workerProcess struct {
	cmd   *exec.Cmd
	input io.Closer
	ended chan error
}

// startProcess starts a worker whose handled records go to the recorders, by handler.
func (w *testEnv) startProcess(endpoint, death string, got map[string]*recorder) *workerProcess {
	w.Helper()

	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), processEndpoint+"="+endpoint, processDeath+"="+death)

	input, err := cmd.StdinPipe()
	if err != nil {
		w.Fatal(err)
	}

	output, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}

	if err != nil {
		w.Fatal(err)
	}

	p := &workerProcess{cmd: cmd, input: input, ended: make(chan error, 1)}
	go func() {
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			handler, rest, _ := strings.Cut(lines.Text(), " ")
			id, digits, _ := strings.Cut(rest, " ")

			version, err := strconv.Atoi(digits)
			if err != nil || got[handler] == nil {
				continue // a line that was cut off
			}
			r := streams.Record{Keys: dynamo.Item{"id": dynamo.S(id)}, New: dynamo.Item{"version": dynamo.N(int64(version))}}
			_ = got[handler].handle(context.Background(), r)
		}
		p.ended <- cmd.Wait()
	}()

	return p
}

// TestAPoisonRecordEndsProcessesAndBecomesADeadLetter: real processes, which end by os.Exit and by a
// panic in a goroutine in turn, are replaced until the record that ends them is given up. All others
// are handled, in order.
func TestAPoisonRecordEndsProcessesAndBecomesADeadLetter(t *testing.T) {
	t.Parallel()

	const items, versions = 10, 6

	w := newTestEnv(t, 2)
	server := httptest.NewServer(w.engine.Handler())
	t.Cleanup(server.Close)

	got := map[string]*recorder{"h": newRecorder(), "beside": newRecorder()}

	for v := 1; v <= versions; v++ {
		w.writeVersion(items, v)

		if v == versions/2 {
			w.write(poison, 1)
			w.write(poison, 2)
		}
	}

	done := func() bool {
		return got["h"].distinct() == items*versions+1 && got["beside"].distinct() == items*versions+2 && len(w.deadLetters("h")) > 0
	}

	deaths := 0
	for p := w.startProcess(server.URL, "exit", got); ; {
		select {
		case err := <-p.ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("a worker has ended: %v", err)
			}

			if deaths++; deaths > 3*lanes.MaxDeaths+leases.SuspectAfter {
				t.Fatalf("%d workers have ended", deaths)
			}
			p = w.startProcess(server.URL, []string{"exit", "panic"}[deaths%2], got)

			continue
		case <-time.After(5 * time.Millisecond):
		}

		if done() {
			_ = p.input.Close()
			if err := <-p.ended; err != nil {
				t.Error(err)
			}

			break
		}
	}
	t.Logf("%d workers have ended", deaths)

	if deaths < lanes.MaxDeaths {
		t.Errorf("only %d workers have ended", deaths)
	}

	got["h"].ordered(t, items, versions)
	got["beside"].ordered(t, items, versions)

	letters := w.deadLetters("h")
	if id, version := keyAndVersion(*letters[0].Record); len(letters) != 1 || id != poison || version != 1 || letters[0].Error != lanes.ErrProcessEnded.Error() {
		t.Errorf("dead letters %+v", letters)
	}

	if letters := w.deadLetters("beside"); len(letters) > 0 {
		t.Errorf("dead letters of another handler: %+v", letters)
	}
}
