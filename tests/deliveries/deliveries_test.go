package deliveries

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/notify"
	"ratchet/notify/webhooks"
)

var (
	flagOrders = flag.Int("orders", 30, "orders whose notifications are delivered, three each")
	flagKills  = flag.Int("kills", 3, "how often a worker is killed")
)

// process is a child.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func start(t *testing.T, env ...string) *process {
	t.Helper()

	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = os.Stderr

	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewScanner(out)

	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill() })

	return p
}

// kill ends the process with SIGKILL.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// accept hands a notification to the worker, and reports whether it was acknowledged.
func (p *process) accept(line string) bool {
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		return false
	}

	return p.out.Scan() && p.out.Text() == line
}

// TestKilledWorkersAndABadReceiver: three workers share the notifications of many orders. One
// after the other is killed; the next worker gets the notifications that the killed one had not
// acknowledged, as from the stream. The receiver fails, hangs, resets and drops answers after it has
// acted. In the end its ledger has every notification once per endpoint, and in order where the
// endpoint asks for order.
func TestKilledWorkersAndABadReceiver(t *testing.T) {
	engine := httptest.NewServer(embeddedtest.Open(t).Handler())
	t.Cleanup(engine.Close)

	secret := webhooks.NewSecret()

	far := start(t, envRole+"=receiver", envSecret+"="+secret.Reveal())
	if !far.out.Scan() {
		t.Fatal("the receiver did not start")
	}
	target := far.out.Text()

	db, endpoints, err := newEndpoints(engine.URL)
	if err != nil {
		t.Fatal(err)
	}
	embeddedtest.Create(t, db, notify.EndpointTableInput("endpoints"), notify.DeliveryTableInput("deliveries"))

	for id, ordered := range map[string]bool{"ordered": true, "plain": false, "hangs": false} {
		if _, err := endpoints.Create(t.Context(), id, notify.Settings{Destination: target + "/" + id, Ordered: ordered}, secret); err != nil {
			t.Fatal(err)
		}
	}

	const workers, each = 3, 3
	var killed sync.Mutex // guards kills
	kills := 0

	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			p := start(t, envRole+"=worker", envEngine+"="+engine.URL)
			defer func() { p.kill() }()

			sent := 0
			for order := w; order < *flagOrders; order += workers {
				for id := range each {
					for line := fmt.Sprintf("o-%05d/%d", order, id+2); !p.accept(line); {
						p.kill()
						p = start(t, envRole+"=worker", envEngine+"="+engine.URL)
					}

					killed.Lock()
					if sent++; kills < *flagKills && sent%max(1, *flagOrders*each/(*flagKills+workers)) == 0 {
						kills++
						_ = p.cmd.Process.Kill() // in the middle of its attempts
					}
					killed.Unlock()
				}
			}
		})
	}
	group.Wait()

	forge(t, target+"/plain")

	d, _, err := newDeliveries(engine.URL)
	if err != nil {
		t.Fatal(err)
	}
	rest := start(t, envRole+"=worker", envEngine+"="+engine.URL)
	defer rest.kill()

	// The endpoint that hangs acts on each notification, and never answers.
	want := *flagOrders * each
	wait(t, 5*time.Minute, func() (done bool, state string) {
		count := map[string]int{}
		if err := d.Scan(t.Context(), func(one notify.Delivery) bool {
			count[one.Endpoint+" "+string(one.Status)]++
			return true
		}); err != nil {
			t.Fatal(err)
		}

		return count["ordered DELIVERED"] == want && count["plain DELIVERED"] == want, fmt.Sprint(count)
	})

	check(t, read[ledger](t, target), want)
}

// forge sends a message with a signature of another secret.
func forge(t *testing.T, url string) {
	t.Helper()

	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{webhooks.NewSecret()}})
	if err != nil {
		t.Fatal(err)
	}

	client, err := webhooks.NewClient(webhooks.ClientConfig{Keys: keys, Reach: webhooks.ReachLoopback})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	answer, err := client.Post(t.Context(), webhooks.Post{URL: url, ID: "forged", Body: []byte("{}")})
	if err == nil || answer.Status != http.StatusUnauthorized {
		t.Errorf("a forged message: %+v, %v", answer, err)
	}
}

// read returns the JSON document at the URL.
func read[T any](t *testing.T, url string) (document T) {
	t.Helper()

	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()

	if err := json.NewDecoder(response.Body).Decode(&document); err != nil {
		t.Fatal(err)
	}

	return document
}

func check(t *testing.T, l ledger, want int) {
	t.Helper()
	t.Logf("%d faults, %d repeats", l.Faults, l.Repeats)

	if l.Refused != 1 || l.Faults == 0 || l.Repeats == 0 {
		t.Errorf("%d refused, %d faults, %d repeats", l.Refused, l.Faults, l.Repeats)
	}

	for _, path := range []string{"/ordered", "/plain"} {
		if n := len(l.Effects[path]); n != want {
			t.Errorf("%s: %d effects, want %d", path, n, want)
		}
	}

	last := map[string]string{}
	for _, key := range l.Effects["/ordered"] {
		order, transition, _ := strings.Cut(strings.TrimSuffix(key, "/notify"), "/")
		if transition <= last[order] {
			t.Errorf("order %s: transition %s took effect after %s", order, transition, last[order])
		}
		last[order] = transition
	}
}

// wait waits until check is done.
func wait(t *testing.T, limit time.Duration, check func() (bool, string)) {
	t.Helper()

	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()

	for deadline := time.Now().Add(limit); ; <-ticker.C {
		done, state := check()
		if done {
			return
		}

		if time.Now().After(deadline) {
			t.Fatalf("waited %s: %s", limit, state)
		}
	}
}
