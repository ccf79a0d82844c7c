package wire

import (
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func ask(t *testing.T, h http.Handler, method, target, body string) (int, http.Header, string) {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), method, "http://engine/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", target)

	res, err := InProcess(h).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()

	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}

	return res.StatusCode, res.Header, string(raw)
}

func TestHandler(t *testing.T) {
	log := &strings.Builder{}

	h := NewHandler(slog.New(slog.NewTextHandler(log, nil)), Service{
		Target: "Test_1", ErrorPrefix: "test#", MessageKey: "message", InternalError: "InternalServerError",
		Operations: map[string]Operation{
			"Echo": func(_ context.Context, body []byte) (any, error) { return json.RawMessage(body), nil },
			"Map":  func(context.Context, []byte) (any, error) { return map[string]int{"n": 1}, nil },
			"Refuse": func(context.Context, []byte) (any, error) {
				e := Errorf("Refused", "no \"%s\"", "way")
				e.Members = map[string]any{"Item": json.RawMessage(`{"id":1}`)}
				return nil, e
			},
			"Invalid": func(context.Context, []byte) (any, error) { return nil, Missing("tableName") },
			"Fail":    func(context.Context, []byte) (any, error) { return nil, errors.New("secret") },
		},
	})
	for _, c := range []struct {
		name, method, target, body string
		status                     int
		want                       string
	}{
		{"raw answer", "POST", "Test_1.Echo", `{"a":1}`, 200, `{"a":1}`},
		{"marshalled answer", "POST", "Test_1.Map", ``, 200, `{"n":1}`},
		{"refusal with a member", "POST", "Test_1.Refuse", ``, 400, `{"__type":"test#Refused","message":"no \"way\"","Item":{"id":1}}`},
		{"prefix of its own", "POST", "Test_1.Invalid", ``, 400, `{"__type":"com.amazon.coral.validate#ValidationException","message":"1 validation error detected: Value null at 'tableName' failed to satisfy constraint: Member must not be null"}`},
		{"the engine's own fault", "POST", "Test_1.Fail", ``, 500, `{"__type":"test#InternalServerError","message":"the embedded engine failed; its log has the cause under request 5"}`},
		{"unknown operation", "POST", "Test_1.Other", ``, 400, `{"__type":"test#UnknownOperationException","message":"Test_1.Other is not supported by the embedded engine"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, header, got := ask(t, h, c.method, c.target, c.body)
			if status != c.status || got != c.want {
				t.Errorf("%d %s, want %d %s", status, got, c.status, c.want)
			}

			if want := strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(got))), 10); header.Get("X-Amz-Crc32") != want || header.Get("Content-Type") != "application/x-amz-json-1.0" {
				t.Errorf("headers %v", header)
			}
		})
	}

	if !strings.Contains(log.String(), "secret") {
		t.Error("the cause of the engine's fault is not in the log")
	}

	if status, _, body := ask(t, h, "GET", "Test_1.Echo", ""); status != 400 || !strings.Contains(body, "UnknownOperationException") {
		t.Errorf("GET: %d %s", status, body)
	}

	if status, _, _ := ask(t, h, "POST", "Test_1.Echo", strings.Repeat("x", MaxBody+1)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over the limit: %d", status)
	}
}

// TestInProcessCancellation: a caller that gave up gets its own error.
func TestInProcessCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := NewHandler(slog.New(slog.DiscardHandler), Service{Target: "T", Operations: map[string]Operation{
		"Wait": func(ctx context.Context, _ []byte) (any, error) {
			cancel()
			return nil, ctx.Err()
		},
	}})

	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://engine/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "T.Wait")

	res, err := InProcess(h).Do(r)
	if err == nil {
		_ = res.Body.Close()
	}

	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
}

func TestWithin(t *testing.T) {
	n := int64(0)
	if err := Within(&n, "limit", 1, 100); err == nil || !strings.Contains(err.Error(), "Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1") {
		t.Errorf("%v", err)
	}

	n = 101
	if err := Within(&n, "limit", 1, 100); err == nil || !strings.Contains(err.Error(), "less than or equal to 100") {
		t.Errorf("%v", err)
	}

	if Within(nil, "limit", 1, 100) != nil || OneOf("", "x", "A") != nil || OneOf("A", "x", "A") != nil || OneOf("B", "x", "A") == nil {
		t.Error("optional members")
	}
}
