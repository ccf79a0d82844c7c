package reactions_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ratchet/streams"
	"ratchet/streams/reactions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var notice = reactions.Notification{Key: "o-1/3/notify", OrderID: "o-1", TransitionID: 3, State: "SHIPPED", At: time.Unix(1700000000, 0).UTC()}

func TestADirectoryHonoursTheKey(t *testing.T) {
	files := reactions.Dir{Path: filepath.Join(t.TempDir(), "out")}
	if n, err := files.Count(); n != 0 || err != nil {
		t.Fatalf("an absent directory holds nothing: %d, %v", n, err)
	}
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			if err := files.Send(t.Context(), notice); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n, err := files.Count(); n != 1 || err != nil {
		t.Errorf("%d files, %v", n, err)
	}
}

func TestAFileHoldsOneLineEachEvenAfterATornOne(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.jsonl")
	if err := os.WriteFile(name, []byte(`{"key":"o-0/2/no`), 0o600); err != nil { // a crash cut this line short
		t.Fatal(err)
	}
	file, err := reactions.OpenFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if err := file.Send(t.Context(), notice); err != nil {
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
	if err != nil || len(lines) != 21 || !strings.HasPrefix(lines[20], `{"key":"o-1/3/notify"`) {
		t.Errorf("%d lines, %v, the last is %q", len(lines), err, lines[len(lines)-1])
	}
	if err := file.Send(t.Context(), notice); err == nil {
		t.Error("a closed file takes nothing")
	}
}

func TestWebhooksAreSignedAndKeepTheirId(t *testing.T) {
	secret := []byte("0123456789abcdef0123456789abcdef")
	var ids []string
	answer := http.StatusNoContent
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(r.Header.Get("Webhook-Id") + "." + r.Header.Get("Webhook-Timestamp") + "." + string(body)))
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("Webhook-Signature") != want {
			t.Errorf("signature %q, want %q", r.Header.Get("Webhook-Signature"), want)
		}
		if r.Header.Get("Idempotency-Key") != notice.Key || !strings.Contains(string(body), `"orderId":"o-1"`) {
			t.Errorf("headers %v, body %s", r.Header, body)
		}
		ids = append(ids, r.Header.Get("Webhook-Id"))
		w.WriteHeader(answer)
	}))
	defer receiver.Close()
	hook, err := reactions.NewWebhook(receiver.URL, secret)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := hook.Send(t.Context(), notice); err != nil {
			t.Fatal(err)
		}
	}
	if len(ids) != 2 || ids[0] != ids[1] || strings.Contains(ids[0], ".") {
		t.Errorf("ids %v", ids)
	}
	for status, permanent := range map[int]bool{500: false, 302: false, 429: false, 410: true} {
		answer = status
		if err := hook.Send(t.Context(), notice); err == nil || streams.IsPermanent(err) != permanent {
			t.Errorf("%d: %v", status, err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestWebhookSettingsAreChecked(t *testing.T) {
	good := []byte("0123456789abcdef0123456789abcdef")
	for url, secret := range map[string][]byte{"ftp://host": good, "http://": good, "https://u:p@host": good, "https://host": []byte("short")} {
		if _, err := reactions.NewWebhook(url, secret); err == nil {
			t.Errorf("%s with %d bytes of secret was taken", url, len(secret))
		}
	}
}
