package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ratchet/embedded"
)

// The servers that this program can be, in a process of its own, with -serve.
const (
	serveEngine  = "engine"
	serveNothing = "nothing"
)

// served is the line that such a server prints when it listens.
type served struct {
	URL string `json:"url"`
	// OpenSeconds is how long the engine took to open its data.
	OpenSeconds float64 `json:"openSeconds"`
}

// serve serves the kind of server on a loopback address, as the ratchet command does, until in
// ends or ctx does. It ends with the process that started it, which holds the other end of in.
func serve(ctx context.Context, kind, dir, notify string, in io.Reader, out io.Writer) (err error) {
	debug.SetGCPercent(400) // as the ratchet command does

	if kind == serveWorker {
		slog.SetDefault(slog.New(slog.DiscardHandler))
		return serveAsWorker(ctx, dir, notify, in, out)
	}

	var handler http.Handler = http.HandlerFunc(answerNothing)
	background := func(context.Context) error { return nil }
	began := time.Now()

	if kind == serveEngine {
		engine, openErr := embedded.Open(embedded.Config{Dir: dir})
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, engine.Close()) }()

		handler, background = engine.Handler(), engine.Run
	}

	opened := time.Since(began)

	// The port is chosen by the system and printed.
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // no name is looked up
	if err != nil {
		return err
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()

	web := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return background(running) })
	group.Go(func() error {
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}

		return nil
	})
	group.Go(func() error {
		<-running.Done()
		return web.Close()
	})

	if err := json.NewEncoder(out).Encode(served{URL: "http://" + listener.Addr().String(), OpenSeconds: opened.Seconds()}); err != nil {
		return err
	}

	go func() {
		// The end of standard input is the end of the parent, also after a kill.
		_, _ = io.Copy(io.Discard, in) // ends with the parent
		stop()
	}()

	return group.Wait()
}

// answerNothing answers every call with {}, after as many spaces as the path says. It shows the
// cost of HTTP alone.
func answerNothing(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	spaces, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")) // 0 without a path
	answer := append(bytes.Repeat([]byte{' '}, spaces), "{}"...)

	w.Header()["Content-Type"] = []string{"application/x-amz-json-1.0"}
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(answer))}
	_, _ = w.Write(answer) // it fails only when the caller is gone
}

// servedProcess is a server that this process has started.
type servedProcess struct {
	served
	cmd   *exec.Cmd
	stdin io.Closer
}

// startServed starts this program again as a server. The caller must stop it.
func startServed(ctx context.Context, kind, dir string, more ...string) (*servedProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}

	return startProgram(ctx, self, kind, dir, more...)
}

// startProgram starts a build of this program as a server.
func startProgram(ctx context.Context, program, kind, dir string, more ...string) (p *servedProcess, err error) {
	p = &servedProcess{cmd: exec.CommandContext(ctx, program, append([]string{"-serve", kind, "-data", dir}, more...)...)}
	p.cmd.Stderr = os.Stderr

	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}

	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}

	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server %s: %w", kind, err)
	}

	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &p.served)
	}

	if err != nil {
		// A server that has started but does not listen must not stay behind.
		return nil, errors.Join(fmt.Errorf("the server %s did not say where it listens: %w", kind, err), p.stop())
	}

	return p, nil
}

// stop lets the server end and waits for it.
func (p *servedProcess) stop() error { return errors.Join(p.stdin.Close(), p.cmd.Wait()) }

// peakMemory returns the most memory that the process has had, in bytes. 0: this system does not
// say.
func (p *servedProcess) peakMemory() int64 {
	return processMemory(strconv.Itoa(p.cmd.Process.Pid), "VmHWM")
}

// processMemory returns a number of bytes from the status of a process. Linux only; elsewhere it is 0.
func processMemory(process, name string) int64 {
	status, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return 0
	}

	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}

	return 0
}

// openServedEngine starts an engine over a new folder, in a process of its own.
func openServedEngine(ctx context.Context, dir string) (*rival, error) {
	p, err := startServed(ctx, serveEngine, dir)
	if err != nil {
		return nil, err
	}

	return newRival("the engine", "", p.URL, p.stop), nil
}

// openRivalBefore starts the engine of an earlier build of this program, which BENCH_BEFORE names: so a
// change is measured before and after in one run.
func openRivalBefore(ctx context.Context, dir string) (*rival, error) {
	p, err := startProgram(ctx, os.Getenv("BENCH_BEFORE"), serveEngine, filepath.Join(dir, "before"))
	if err != nil {
		return nil, err
	}

	return newRival("the engine of the earlier build", "_before", p.URL, p.stop), nil
}

// openRivalNothing starts a server that answers {}.
func openRivalNothing(ctx context.Context, _ string) (*rival, error) {
	p, err := startServed(ctx, serveNothing, "")
	if err != nil {
		return nil, err
	}

	return newRival("a Go server that answers {}", "_empty_server", p.URL, p.stop), nil
}

// answering returns the rival that answers {} after this number of spaces.
func (r *rival) answering(bytes int64) *rival {
	return &rival{endpoint: r.endpoint, raw: &rawClient{http: r.raw.http, url: r.url + "/" + strconv.FormatInt(bytes, 10)}}
}
