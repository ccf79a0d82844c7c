package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

func newRequest(ctx context.Context, t *testing.T, method, url, target, body string) *http.Request {
	t.Helper()

	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", target)

	return r
}

func ask(t *testing.T, h http.Handler, method, target, body string) (int, http.Header, string) {
	t.Helper()

	r := newRequest(t.Context(), t, method, "http://engine/", target, body)

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

// echoService answers as an AWS service does, and can fail in each way that a service can.
func echoService() Service {
	return Service{
		Target:        "Test_1",
		ErrorPrefix:   "test#",
		MessageKey:    "message",
		InternalError: "InternalServerError",
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
			"Typed": Decoded(func(_ context.Context, in *struct{ N int }) (any, error) {
				return map[string]int{"N": in.N + 1}, nil
			}),
		},
	}
}

func TestHandler(t *testing.T) {
	log := &strings.Builder{}
	h := NewHandler(slog.New(slog.NewTextHandler(log, nil)), echoService())

	for _, c := range []struct {
		name, operation, body string
		status                int
		want                  string
	}{
		{
			name:      "a raw answer is sent as it is",
			operation: "Echo", body: `{"a":1}`,
			status: 200,
			want:   `{"a":1}`,
		},
		{
			name:      "any other answer is marshaled",
			operation: "Map",
			status:    200,
			want:      `{"n":1}`,
		},
		{
			name:      "an error carries its further members",
			operation: "Refuse",
			status:    400,
			want:      `{"__type":"test#Refused","message":"no \"way\"","Item":{"id":1}}`,
		},
		{
			name:      "an error's own prefix replaces the service's",
			operation: "Invalid",
			status:    400,
			want: `{"__type":"com.amazon.coral.validate#ValidationException","message":"1 validation error detected: ` +
				`Value null at 'tableName' failed to satisfy constraint: Member must not be null"}`,
		},
		{
			name:      "a fault of the engine names the request and hides the cause",
			operation: "Fail",
			status:    500,
			want:      `{"__type":"test#InternalServerError","message":"the embedded engine failed; its log has the cause under request 5"}`,
		},
		{
			name:      "an unknown operation is refused",
			operation: "Other",
			status:    400,
			want:      `{"__type":"test#UnknownOperationException","message":"Test_1.Other is not supported by the embedded engine"}`,
		},
		{
			name:      "a typed request is decoded",
			operation: "Typed", body: `{"N":1,"Unknown":true}`,
			status: 200,
			want:   `{"N":2}`,
		},
		{
			name:      "a typed request needs a body",
			operation: "Typed",
			status:    400,
			want:      `{"__type":"com.amazon.coral.service#SerializationException"}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, header, got := ask(t, h, "POST", "Test_1."+c.operation, c.body)
			if status != c.status || got != c.want {
				t.Errorf("%d %s, want %d %s", status, got, c.status, c.want)
			}

			checksum := strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(got))), 10)
			if header.Get("X-Amz-Crc32") != checksum || header.Get("Content-Type") != "application/x-amz-json-1.0" {
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

	if status, _, _ := ask(t, h, "POST", "Test_1.Echo", strings.Repeat("x", maxBody+1)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over the limit: %d", status)
	}
}

// A service that once spoke the Query protocol names its errors in that protocol too, and
// says whose fault they are.
func TestQueryErrorHeader(t *testing.T) {
	service := echoService()
	service.QueryCode = func(errorType string) string { return "Old." + errorType }
	h := NewHandler(slog.New(slog.DiscardHandler), service)

	for operation, want := range map[string]string{
		"Refuse": "Old.Refused;Sender",
		"Fail":   "Old.InternalServerError;Receiver",
	} {
		if _, header, _ := ask(t, h, "POST", "Test_1."+operation, ""); header.Get("X-Amzn-Query-Error") != want {
			t.Errorf("%s: %q, want %q", operation, header.Get("X-Amzn-Query-Error"), want)
		}
	}
}

// A caller that gave up gets its context's error, as over a socket.
func TestInProcessReturnsTheErrorOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := NewHandler(slog.New(slog.DiscardHandler), Service{
		Target: "T",
		Operations: map[string]Operation{
			"Wait": func(ctx context.Context, _ []byte) (any, error) {
				cancel()
				return nil, ctx.Err()
			},
		},
	})

	res, err := InProcess(h).Do(newRequest(ctx, t, http.MethodPost, "http://engine/", "T.Wait", ""))
	if err == nil {
		_ = res.Body.Close()
	}

	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
}

func TestWithin(t *testing.T) {
	const constraint = "Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"

	n := int64(0)
	if err := Within(&n, "limit", 1, 100); err == nil || !strings.Contains(err.Error(), constraint) {
		t.Errorf("below the range: %v", err)
	}

	n = 101
	if err := Within(&n, "limit", 1, 100); err == nil || !strings.Contains(err.Error(), "less than or equal to 100") {
		t.Errorf("above the range: %v", err)
	}

	if err := Within(nil, "limit", 1, 100); err != nil {
		t.Errorf("an absent number: %v", err)
	}
}

func TestOneOf(t *testing.T) {
	for _, value := range []string{"", "A"} {
		if err := OneOf(value, "x", "A"); err != nil {
			t.Errorf("%q: %v", value, err)
		}
	}

	if err := OneOf("B", "x", "A"); err == nil {
		t.Error("a value outside the set is accepted")
	}
}

// letters answers with its body, size times. look sees the room of each answer before.
func letters(size int, look func(room []byte)) http.Handler {
	return NewHandler(slog.New(slog.DiscardHandler), Service{Target: "Test_1", Operations: map[string]Operation{
		"Letters": func(_ context.Context, body []byte) (any, error) {
			out := Buffer(size)
			look(out[:cap(out)])

			return json.RawMessage(append(out, bytes.Repeat(body, size)...)), nil
		},
	}})
}

// TestAnswersShareNoMemoryWhileTheyAreSent: memory is used again, and only after an answer was written.
func TestAnswersShareNoMemoryWhileTheyAreSent(t *testing.T) {
	const size = 3 * leastReused

	var reused atomic.Int64
	server := httptest.NewServer(letters(size, func(room []byte) {
		if room[size-1] != 0 {
			reused.Add(1)
		}
	}))
	defer server.Close()

	var callers sync.WaitGroup
	for n := range 8 {
		letter := string(rune('a' + n))
		callers.Go(func() {
			for range 50 {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(letter))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("X-Amz-Target", "Test_1.Letters")

				res, err := server.Client().Do(r)
				if err != nil {
					t.Error(err)
					return
				}

				raw, err := io.ReadAll(res.Body)
				_ = res.Body.Close()

				if err != nil || string(raw) != strings.Repeat(letter, size) {
					t.Errorf("the answer for %q has other bytes: %v", letter, err)
					return
				}
			}
		})
	}
	callers.Wait()

	if reused.Load() == 0 {
		t.Error("no memory was used again")
	}
}

// TestAnAnswerInProcessKeepsItsMemory: the caller of the transport owns the memory and may keep it.
func TestAnAnswerInProcessKeepsItsMemory(t *testing.T) {
	const size = 2 * leastReused
	h := letters(size, func([]byte) {})

	call := func(letter string) io.ReadCloser {
		res, err := InProcess(h).Do(newRequest(t.Context(), t, http.MethodPost, "http://engine/", "Test_1.Letters", letter))
		if err != nil {
			t.Fatal(err)
		}

		return res.Body
	}

	first := call("a")
	_ = call("b").Close()

	raw, err := io.ReadAll(first)
	if err != nil || string(raw) != strings.Repeat("a", size) {
		t.Errorf("the first answer has other bytes after the second one: %v", err)
	}
	_ = first.Close()
}

// TestAClosedAnswerInProcessGivesItsMemoryBack: a later answer has it, and the closed one has no bytes that could change.
func TestAClosedAnswerInProcessGivesItsMemoryBack(t *testing.T) {
	const size = 2 * leastReused

	reused := false
	h := letters(size, func(room []byte) { reused = reused || room[size-1] != 0 })

	for n := 0; n < 1000 && !reused; n++ { // a pool may forget what is put into it
		res, err := InProcess(h).Do(newRequest(t.Context(), t, http.MethodPost, "http://engine/", "Test_1.Letters", "a"))
		if err != nil {
			t.Fatal(err)
		}

		for range 2 {
			_ = res.Body.Close()
			if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 {
				t.Fatalf("a closed answer has %d bytes, %v", len(rest), err)
			}
		}
	}

	if !reused {
		t.Error("no memory was used again")
	}
}

// writer is a socket that looks at the memory of the written bytes.
type writer struct {
	http.ResponseWriter
	write func(p []byte) (int, error)
}

func (w writer) Write(p []byte) (int, error) { return w.write(p) }

// shares reports whether a is the memory of b.
func shares(a, b []byte) bool { return unsafe.SliceData(a) == unsafe.SliceData(b) }

// TestMemoryIsFreeOnlyAfterItsAnswerWasWritten: no other answer gets the memory of an answer that
// is being written, or whose caller has gone.
func TestMemoryIsFreeOnlyAfterItsAnswerWasWritten(t *testing.T) {
	const size = 2 * leastReused

	for range 20 { // a pool may forget what is put into it
		send(writer{httptest.NewRecorder(), func(p []byte) (int, error) {
			if shares(Buffer(size), p) {
				t.Error("another answer has the memory of one that is being written")
			}

			return len(p), nil
		}}, &http.Request{}, http.StatusOK, make([]byte, size))

		gone := make([]byte, size)
		send(writer{httptest.NewRecorder(), func([]byte) (int, error) { return 0, io.ErrClosedPipe }}, &http.Request{}, http.StatusOK, gone)

		for range 4 { // the first one may have other memory that was used before
			if shares(Buffer(size), gone) {
				t.Error("another answer has the memory of one whose caller has gone")
			}
		}
	}
}

// TestRoomOfBuffers: a buffer is empty and has the room that was asked for, whatever was used before.
func TestRoomOfBuffers(t *testing.T) {
	for range 3 {
		for _, used := range []int{1, leastReused - 1, leastReused, 5 * leastReused, mostReused, mostReused + 1} {
			for _, size := range []int{0, 1, leastReused - 1, leastReused, leastReused + 1, 4 * leastReused, mostReused} {
				answer := make([]byte, used)
				reuse(answer)

				b := Buffer(size)
				if len(b) != 0 || cap(b) < size {
					t.Fatalf("%d bytes with room for %d, asked for %d after %d", len(b), cap(b), size, used)
				}

				if shares(b, answer) && (used < leastReused || used > mostReused || used > 4*size) {
					t.Errorf("memory of %d bytes is used again for %d", used, size)
				}
			}
		}
	}
}
