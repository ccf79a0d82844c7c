package examples

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ratchet/tests/program"
)

// carrierDeliversAnOrder starts the carrier and `ratchet dev` by the commands of the carrier's comment: an
// order is delivered by the carrier's signed reports.
func carrierDeliversAnOrder(t *testing.T, bin string) {
	t.Helper()

	const secret = "RATCHET_CARRIER_SECRET=carrier-secret-of-24-bytes"
	want := []string{
		"-callback-url http://127.0.0.1:8701/v1/callbacks/carrier -secret carrier-secret-of-24-bytes",
		secret + " ratchet dev --carrier http://127.0.0.1:8710",
	}

	commands := commandsOf(t, "carrier")
	if !slices.Equal(commands, want) {
		t.Fatalf("the comment has the commands\n%s\nwant\n%s", strings.Join(commands, "\n"), strings.Join(want, "\n"))
	}

	api, address := program.FreeAddress(t), program.FreeAddress(t)
	ports := strings.NewReplacer("127.0.0.1:8701", api, "127.0.0.1:8710", address)

	e := newExample(t, bin, "ratchet")

	carrier := e.serve(t, "carrier", ports.Replace(commands[0])+" -delay 10ms -listen "+address)
	if line := carrier.FirstLine(t); line != "carrier: http://"+address {
		t.Fatalf("the carrier printed %q", line)
	}

	dev := e.serve(t, "ratchet", ports.Replace(strings.TrimPrefix(commands[1], secret+" ratchet ")), secret, "RATCHET_API_LISTEN="+api)
	dev.FirstLine(t)

	for _, s := range []step{
		{"orders create o-1 --item mug:1:1250 --stock 10", `^Applied: order o-1 is PENDING `},
		{"orders history o-1", `deliver +SHIPPED +DELIVERED`},
	} {
		e.until(t, s, func(ctx context.Context) (string, error) { return e.run(ctx, s.command) })
	}

	dev.Interrupt(t)
	carrier.Interrupt(t)
}

// lambdaAnswersItsRuntime plays AWS Lambda: the program cannot be started alone, it takes its work from
// Lambda's runtime API, and Lambda ends it by SIGKILL.
func lambdaAnswersItsRuntime(t *testing.T, bin string) {
	t.Helper()

	const event = `{"Records":[{"eventName":"REMOVE","eventSourceARN":"arn:aws:dynamodb:r:1:table/things/stream/L",
		"dynamodb":{"SequenceNumber":"1","Keys":{"id":{"S":"a"}},"OldImage":{"id":{"S":"a"}}}}]}`

	answers := make(chan string, 1)

	var asked atomic.Bool
	runtime := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			body, _ := io.ReadAll(r.Body)
			answers <- r.URL.Path + " " + string(body)
			w.WriteHeader(http.StatusAccepted)
		case !asked.CompareAndSwap(false, true):
			<-r.Context().Done() // no more work
		default:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "request-1")
			_, _ = io.WriteString(w, event)
		}
	}))
	defer runtime.Close()

	e := newExample(t, bin, "lambda")
	function := e.serve(t, "lambda", "", "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(runtime.URL, "http://"),
		"DEAD_LETTER_TABLE=letters", "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x")

	select {
	case answer := <-answers:
		if answer != `/2018-06-01/runtime/invocation/request-1/response {"batchItemFailures":[]}` {
			t.Errorf("the function answered %s", answer)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the function has not answered")
	}
	function.Kill(t)

	if log, err := os.ReadFile(function.Log()); err != nil || !strings.Contains(string(log), "removed: ") {
		t.Errorf("the function printed %s, %v", log, err)
	}
}
