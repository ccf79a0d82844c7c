package destination_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ratchet/notify"
	"ratchet/notify/destination"
	"ratchet/notify/webhooks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var message = notify.Message{
	Notification: notify.Notification{Key: "o-1/0/3/notify", OrderID: "o-1", Incarnation: "0", TransitionID: 3, State: "SHIPPED", At: time.Unix(1700000000, 0).UTC()},
	ID:           "ntf_1",
	Body:         []byte(`{"type":"order.SHIPPED","data":{"orderId":"o-1"}}`),
	ContentType:  "application/json",
	Type:         "order.SHIPPED",
	Attempt:      1,
}

func TestDirStoresANotificationOncePerKey(t *testing.T) {
	files, err := destination.NewDir(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}

	if n, err := files.Count(); n != 0 || err != nil {
		t.Fatalf("a directory that does not exist: %d notifications, %v", n, err)
	}

	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			if _, err := files.Send(t.Context(), message); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()

	if n, err := files.Count(); n != 1 || err != nil {
		t.Errorf("%d files, %v", n, err)
	}
}

func TestFileHoldsOneLineEachAfterATornLine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.jsonl")
	if err := os.WriteFile(name, []byte(`{"key":"o-0/2/no`), 0o600); err != nil { // a crash cut this line short
		t.Fatal(err)
	}

	file, err := destination.OpenFile(name)
	if err != nil {
		t.Fatal(err)
	}

	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := file.Send(t.Context(), message); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()

	if err := file.Close(); err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(name)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if err != nil || len(lines) != 21 || !strings.HasPrefix(lines[20], `{"key":"o-1/0/3/notify"`) {
		t.Errorf("%d lines, %v, the last is %q", len(lines), err, lines[len(lines)-1])
	}

	if _, err := file.Send(t.Context(), message); err == nil {
		t.Error("Send on a closed file succeeded")
	}
}

// hook returns a sink that delivers to a URL of this machine.
func hook(t *testing.T, url string) (*destination.Webhook, *webhooks.Keys, error) {
	t.Helper()

	keys, err := webhooks.New(webhooks.Config{Secrets: []webhooks.Secret{webhooks.NewSecret()}})
	if err != nil {
		t.Fatal(err)
	}

	client, err := webhooks.NewClient(webhooks.ClientConfig{Keys: keys, Reach: webhooks.ReachLoopback})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })

	sink, err := destination.NewWebhook(destination.WebhookConfig{Client: client, URL: url})

	return sink, keys, err
}

func TestWebhookIsSignedAndKeepsItsID(t *testing.T) {
	var ids []string
	var keys *webhooks.Keys
	answer := http.StatusNoContent
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m, err := keys.Read(r, 1<<10)
		if err != nil || r.Header.Get("Idempotency-Key") != message.Key || !strings.Contains(string(m.Body), `"orderId":"o-1"`) {
			t.Errorf("headers %v, body %s, error %v", r.Header, m.Body, err)
		}
		ids = append(ids, m.ID)
		w.WriteHeader(answer)
	}))
	defer receiver.Close()

	sink, shared, err := hook(t, receiver.URL)
	if keys = shared; err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if _, err := sink.Send(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}

	if len(ids) != 2 || ids[0] != ids[1] {
		t.Errorf("ids %v", ids)
	}

	for status, want := range map[int]error{500: nil, 302: nil, 429: nil, 410: notify.ErrGone} {
		answer = status

		got, err := sink.Send(t.Context(), message)
		if err == nil || errors.Is(err, notify.ErrGone) != (want != nil) || got.Status != status {
			t.Errorf("%d: %+v, %v", status, got, err)
		}
	}
}

func TestWebhookURLIsChecked(t *testing.T) {
	for _, url := range []string{"ftp://host", "http://", "https://u:p@host", "https://169.254.169.254"} {
		if _, _, err := hook(t, url); err == nil {
			t.Errorf("%s was accepted", url)
		}
	}
}

func TestConstructorsNameTheMissingField(t *testing.T) {
	if _, err := destination.NewDir(""); err == nil || !strings.Contains(err.Error(), "path") {
		t.Errorf("NewDir: got %v", err)
	}

	if _, err := destination.NewWebhook(destination.WebhookConfig{URL: "https://example.com"}); err == nil || !strings.Contains(err.Error(), "Client") {
		t.Errorf("NewWebhook: got %v", err)
	}

	if _, err := destination.OpenFile(t.TempDir()); err == nil {
		t.Error("OpenFile opened a directory")
	}
}

func TestLogWritesOneLine(t *testing.T) {
	var out bytes.Buffer
	if _, err := destination.NewLog(slog.New(slog.NewTextHandler(&out, nil))).Send(t.Context(), message); err != nil {
		t.Fatal(err)
	}

	if line := out.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, "key=o-1/0/3/notify order=o-1 transition=3 state=SHIPPED") {
		t.Errorf("got %q", line)
	}
}
