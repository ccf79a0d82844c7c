package crash

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
	"ratchet/server/scenario"
	"ratchet/tests/program"
)

var flagWorkerKills = flag.Int("workerkills", 3, "how often one of three workers is killed under load, and another one paused or cut off")

// worker is a `ratchet worker` process. It reaches the engine through a link of its own.
type worker struct {
	*program.Process
	link *link
}

// startWorker starts a worker process.
func startWorker(t *testing.T, bin, dir, name string, l *link) *worker {
	t.Helper()

	args := []string{
		"worker",
		"--name", name,
		"--endpoint-url", l.server.URL,
		"--sandbox-carrier",
		"--notify", "dir:" + filepath.Join(dir, "notifications"),
		"--carrier-delay", "100ms",
		"--effect-lease", "3s",
		"--decline-percent", "5",
		"--timeout-percent", "3",
	}

	return &worker{program.Process{Bin: bin, Args: args, Dir: dir, Name: name}.Start(t), l}
}

// pause stops the process (SIGSTOP) for a while. Like a suspended machine it writes nothing
// meanwhile, and goes on afterwards as if no time had passed.
func (w *worker) pause(t *testing.T, long time.Duration) {
	t.Helper()

	process := w.Process // a restart replaces it
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}

	// The process may have been killed meanwhile.
	resumed := time.AfterFunc(long, func() { _ = process.Signal(syscall.SIGCONT) })
	t.Cleanup(func() {
		if resumed.Stop() {
			_ = process.Signal(syscall.SIGCONT)
		}
	})
}

// link is the network between one worker and the engine. While it is cut, requests that are
// sent hang, and the answers of those under way are lost.
type link struct {
	server *httptest.Server

	mu   sync.Mutex
	down chan struct{} // closed when the link works again; nil while it works
}

func newLink(t *testing.T, target string) *link {
	t.Helper()

	address, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}

	proxy := httputil.NewSingleHostReverseProxy(address)
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }

	l := &link{}
	proxy.ModifyResponse = func(*http.Response) error {
		if l.state() != nil {
			return errors.New("the answer is lost")
		}

		return nil
	}
	l.server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if down := l.state(); down != nil {
			select {
			case <-down:
			case <-r.Context().Done():
			}

			panic(http.ErrAbortHandler)
		}

		proxy.ServeHTTP(out, r)
	}))
	l.server.Config.ErrorLog = nil
	t.Cleanup(func() {
		l.mend()
		l.server.CloseClientConnections()
		l.server.Close()
	})

	return l
}

func (l *link) state() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.down
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.down == nil {
		l.down = make(chan struct{})
	}
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.down != nil {
		close(l.down)
		l.down = nil
	}
}

// partition is how long a worker is paused or cut off: longer than its leases, so that others
// take its work over, and shorter than a task's heartbeat.
const partition = 6 * time.Second

// TestKillNineAmongWorkers runs orders on three worker processes. Again and again one of them
// is killed, and another one is paused (SIGSTOP), or cut off from the engine, for a while. At
// the end it recounts every table: nothing is lost, and nothing has two effects.
func TestKillNineAmongWorkers(t *testing.T) {
	t.Parallel()

	const ordersPerKill = 40

	bin, dir := program.Self(t, "ratchet"), t.TempDir()
	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)

	front := httptest.NewServer(engine.Handler())
	t.Cleanup(front.Close)

	b, err := server.Connect(t.Context(), server.Config{
		EndpointURL: front.URL,
		Notify:      "dir:" + filepath.Join(dir, "notifications"),
	}, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	plan := scenario.Default(ordersPerKill * (*flagWorkerKills + 1))
	if err := errors.Join(b.Init(t.Context()), plan.Fill(t.Context(), b)); err != nil {
		t.Fatal(err)
	}

	workers := make([]*worker, 3)
	for i := range workers {
		workers[i] = startWorker(t, bin, dir, fmt.Sprintf("worker-%d", i), newLink(t, front.URL))
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(10+*flagWorkerKills/4)*time.Minute)
	defer cancel()

	driven := make(chan error, 1)
	var sent scenario.Sent
	go func() { driven <- plan.Drive(ctx, b, &sent, nil) }()

	for kill := range *flagWorkerKills {
		untilPlaced(ctx, t, b, (kill+1)*ordersPerKill/2)

		victim := rand.IntN(len(workers))
		other := workers[(victim+1)%len(workers)]

		if kill%3 < 2 {
			other.pause(t, partition)
		} else {
			other.link.cut()

			healed := time.AfterFunc(partition, other.link.mend)
			t.Cleanup(func() { healed.Stop() })
		}

		workers[victim].Process = workers[victim].Restart(t)
	}

	checkOrders(ctx, t, plan, b, driven)
}
