//go:build sdks

package sdks

import (
	"bytes"
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ratchet/notify/webhooks"
	"ratchet/tests/program"
)

const examples = "../../examples"

// receiver is a program of examples/webhooks. It listens on the port and keeps what it has done in the file.
type receiver struct {
	name, url, file string
	process         program.Process
	running         *program.Process
}

// TestReceivers runs the receiver of each language behind an endpoint of `ratchet dev`. Each acts once for
// each notification of an order, also when a message comes again after its process was killed, and refuses
// what is not signed.
func TestReceivers(t *testing.T) {
	sdks, dir, bin := install(t), t.TempDir(), program.Build(t)
	secret := webhooks.NewSecret()
	env := []string{"WEBHOOK_SECRET=whsec_" + base64.StdEncoding.EncodeToString(secret), "RATCHET_LISTEN=127.0.0.1:0", "RATCHET_API_LISTEN=127.0.0.1:0", "RATCHET_ADMIN_LISTEN=127.0.0.1:0"}

	dev := program.Process{Bin: bin, Args: []string{"dev", "--json", "--notify", "none"}, Env: env, Work: dir, Dir: dir, Name: "dev"}.Start(t)
	dev.Endpoint(t)

	ratchet := func(t *testing.T, args ...string) {
		t.Helper()

		command := exec.CommandContext(t.Context(), bin, args...)
		command.Dir, command.Env = dir, append(os.Environ(), env...)

		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("ratchet %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}

	receivers := receiversIn(t, sdks, dir)
	for _, r := range receivers {
		r.process.Env = env[:1]
		r.running = r.process.Start(t)
		r.wait(t)
		ratchet(t, "endpoints", "create", r.name, r.url, "--states", "PAYMENT_RECEIVED,SHIPPED,DELIVERED", "--ordered", "--secret-env", "WEBHOOK_SECRET")
	}

	// A worker reads the list of endpoints at its start, and else within ten seconds.
	dev.Restart(t).Endpoint(t)
	ratchet(t, "inventory", "set", "mug", "10")
	ratchet(t, "orders", "create", "o-1", "--item", "mug:2:1250")
	ratchet(t, "orders", "watch", "o-1", "--until", "DELIVERED")

	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{secret}})
	if err != nil {
		t.Fatal(err)
	}

	for _, r := range receivers {
		t.Run(r.name, func(t *testing.T) {
			r.waitForLines(t, 3)

			for i, state := range []string{"PAYMENT_RECEIVED", "SHIPPED", "DELIVERED"} {
				if line := r.lines(t)[i]; !strings.Contains(line, `"type":"order.`+state+`"`) {
					t.Errorf("effect %d is %s, want that of %s", i, line, state)
				}
			}

			r.refuses(t, keys)

			r.post(t, keys, "ntf_again", http.StatusNoContent, nil)
			r.post(t, keys, "ntf_again", http.StatusNoContent, nil)

			r.running.Restart(t)
			r.wait(t)
			r.post(t, keys, "ntf_again", http.StatusNoContent, nil)

			if lines := r.lines(t); len(lines) != 4 {
				t.Errorf("%d effects of 4 messages: %q", len(lines), lines)
			}
		})
	}
}

// refuses posts messages that are not what was signed.
func (r *receiver) refuses(t *testing.T, keys *webhooks.Keys) {
	t.Helper()

	for what, spoil := range map[string]func(http.Header){
		"another id":     func(h http.Header) { h.Set("Webhook-Id", "ntf_other") },
		"another time":   func(h http.Header) { h.Set("Webhook-Timestamp", "1") },
		"no signature":   func(h http.Header) { h.Del("Webhook-Signature") },
		"a signature of": func(h http.Header) { h.Set("Webhook-Signature", "v1,AAAA") },
	} {
		t.Log(what)
		r.post(t, keys, "ntf_forged", http.StatusUnauthorized, spoil)
	}
}

// post sends a signed message, whose headers spoil may change, and wants the status.
func (r *receiver) post(t *testing.T, keys *webhooks.Keys, id string, want int, spoil func(http.Header)) {
	t.Helper()

	body := []byte(`{"type":"order.DELIVERED","data":{"orderId":"ö-1"}}`)

	headers, err := keys.Sign(id, body)
	if err != nil {
		t.Fatal(err)
	}

	if spoil != nil {
		spoil(headers)
	}

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = headers

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()

	if response.StatusCode != want {
		t.Errorf("%s answers %d, want %d", id, response.StatusCode, want)
	}
}

// lines are the effects of the receiver.
func (r *receiver) lines(t *testing.T) []string {
	t.Helper()

	text, err := os.ReadFile(r.file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}

	return strings.FieldsFunc(string(text), func(c rune) bool { return c == '\n' })
}

func (r *receiver) waitForLines(t *testing.T, n int) {
	t.Helper()
	until(t, func() bool { return len(r.lines(t)) >= n })
}

// wait waits until the receiver listens.
func (r *receiver) wait(t *testing.T) {
	t.Helper()

	until(t, func() bool {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.Trim(r.url, "htp:/"))
		if err == nil {
			connection.Close()
		}

		return err == nil
	})
}

// until waits until the condition holds, for two minutes at most.
func until(t *testing.T, holds func() bool) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()

	for !holds() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatal("not within two minutes")
		}
	}
}

// receiversIn returns the receivers, with their programs in the directory.
func receiversIn(t *testing.T, sdks, dir string) []*receiver {
	t.Helper()

	absolute := func(path string) string {
		full, err := filepath.Abs(filepath.Join(examples, "webhooks", path))
		if err != nil {
			t.Fatal(err)
		}

		return full
	}

	golang := filepath.Join(dir, "receiver")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", golang, ".")
	build.Dir, build.Env = absolute("go"), append(os.Environ(), "GOFLAGS=")

	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	// A module of Node looks for libraries beside itself.
	script := filepath.Join(sdks, "js", "receiver.mjs")
	copyFile(t, absolute("javascript/receiver.mjs"), script)

	jar, err := filepath.Glob(filepath.Join(sdks, "java", "standardwebhooks-*.jar"))
	if err != nil || len(jar) != 1 {
		t.Fatal(jar, err)
	}

	var all []*receiver
	for name, command := range map[string][]string{
		"go":         {golang},
		"python":     {filepath.Join(sdks, "python/bin/python"), absolute("python/receiver.py")},
		"javascript": {"node", script},
		"java":       {"java", "-cp", jar[0], absolute("java/Receiver.java")},
	} {
		address := program.FreeAddress(t)

		listen := address
		if name != "go" {
			_, listen, _ = strings.Cut(address, ":")
		}

		r := &receiver{name: name, url: "http://" + address + "/", file: filepath.Join(dir, name+".txt")}
		r.process = program.Process{Bin: command[0], Args: append(command[1:], listen, r.file), Work: dir, Dir: dir, Name: name}
		all = append(all, r)
	}

	return all
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()

	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
