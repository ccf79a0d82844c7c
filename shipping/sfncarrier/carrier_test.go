package sfncarrier_test

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"go.uber.org/goleak"

	"ratchet/embedded/embeddedtest"
	"ratchet/shipping"
	"ratchet/shipping/sfncarrier"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ shipping.Carrier = (*sfncarrier.Carrier)(nil)

// The machine waits with shipments of orders that begin with "wait", and lets all others leave.
const machine = `{"StartAt":"Which","States":{
	"Which":{"Type":"Choice","Choices":[{"Variable":"$.canceled","BooleanEquals":true,"Next":"Left"},{"Variable":"$.orderId","StringMatches":"wait*","Next":"Pack"}],"Default":"Left"},
	"Pack":{"Type":"Wait","Seconds":86400,"Next":"Left"},
	"Left":{"Type":"Succeed"}}}`

func newCarrier(t *testing.T) (*sfncarrier.Carrier, *sfn.Client) {
	t.Helper()

	c, client, _ := newCarrierBehind(t)

	return c, client
}

// newCarrierBehind returns also the transport of the client's calls.
func newCarrierBehind(t *testing.T) (*sfncarrier.Carrier, *sfn.Client, *embeddedtest.Transport) {
	t.Helper()

	engine := embeddedtest.Open(t)
	embeddedtest.Run(t, engine)
	cfg := engine.AWSConfig()
	cfg.Retryer = embeddedtest.NoRetries
	transport := embeddedtest.Intercept(&cfg)
	client := sfn.NewFromConfig(cfg)

	created, err := client.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("warehouse"), RoleArn: aws.String("arn:aws:iam::000000000000:role/any"), Definition: aws.String(machine),
	})
	if err != nil {
		t.Fatal(err)
	}

	c, err := sfncarrier.New(client, *created.StateMachineArn)
	if err != nil {
		t.Fatal(err)
	}

	return c, client, transport
}

// TestAShipmentIsOneExecution books twice: while the execution runs, and after its end.
func TestAShipmentIsOneExecution(t *testing.T) {
	c, client := newCarrier(t)

	for _, order := range []string{"wait-1", "quick-1", "tenant:" + strings.Repeat("x", 100)} {
		key := order + "/2/shipping"

		var tracking [2]string
		for i := range tracking {
			var err error
			if tracking[i], err = c.Book(t.Context(), key, order); err != nil {
				t.Fatalf("%s: %v", order, err)
			}
		}

		if tracking[0] != tracking[1] || len(tracking[0]) > 80 {
			t.Errorf("%s: tracking numbers %q", order, tracking)
		}
	}

	out, err := client.ListExecutions(t.Context(), &sfn.ListExecutionsInput{
		StateMachineArn: aws.String("arn:aws:states:" + region(t, client) + ":stateMachine:warehouse"),
	})
	if err != nil || len(out.Executions) != 3 {
		t.Errorf("%d executions, %v", len(out.Executions), err)
	}
}

func region(t *testing.T, client *sfn.Client) string {
	t.Helper()

	out, err := client.ListStateMachines(t.Context(), &sfn.ListStateMachinesInput{})
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(*out.StateMachines[0].StateMachineArn, ":")

	return parts[3] + ":" + parts[4]
}

func TestCancelStopsAnExecutionUnlessItHasEnded(t *testing.T) {
	c, client := newCarrier(t)

	for _, order := range []string{"wait-1", "quick-1"} {
		if _, err := c.Book(t.Context(), order+"/2/shipping", order); err != nil {
			t.Fatal(err)
		}
	}

	awaitEnd(t, client, "quick-1-2-shipping")

	for key, want := range map[string]bool{"wait-1/2/shipping": false, "quick-1/2/shipping": true, "none/2/shipping": false} {
		for range 2 {
			if left, err := c.Cancel(t.Context(), key); err != nil || left != want {
				t.Errorf("%s: left %v, %v", key, left, err)
			}
		}
	}

	for _, order := range []string{"wait-1", "none"} {
		if _, err := c.Book(t.Context(), order+"/2/shipping", order); !errors.Is(err, shipping.ErrCanceled) {
			t.Errorf("%s booked after the cancellation: %v", order, err)
		}
	}
}

// awaitEnd waits for the end of the execution with the name.
func awaitEnd(t *testing.T, client *sfn.Client, name string) {
	t.Helper()

	arn := "arn:aws:states:" + region(t, client) + ":execution:warehouse:" + name
	for status := types.ExecutionStatusRunning; status == types.ExecutionStatusRunning; {
		out, err := client.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
		if err != nil {
			t.Fatal(err)
		}

		if status = out.Status; status == types.ExecutionStatusRunning {
			<-time.After(time.Millisecond)
		}
	}
}

// TestAClosedKeyIsStopped: what Cancel has started under the name, or a booking at the same moment.
func TestAClosedKeyIsStopped(t *testing.T) {
	for _, booked := range []bool{false, true} {
		c, client, transport := newCarrierBehind(t)
		machine := "arn:aws:states:" + region(t, client) + ":stateMachine:warehouse"
		transport.Reset()

		if booked {
			started := false
			transport.Before(func(call *embeddedtest.Call) error {
				if started || call.Operation != "StartExecution" {
					return nil
				}
				started = true

				_, err := client.StartExecution(t.Context(), &sfn.StartExecutionInput{
					StateMachineArn: &machine, Name: aws.String("wait-1-2-shipping"), Input: aws.String(`{"shipment":"wait-1/2/shipping","orderId":"wait-1","canceled":false}`),
				})

				return err
			})
		}

		if left, err := c.Cancel(t.Context(), "wait-1/2/shipping"); err != nil || left {
			t.Errorf("left %t, %v", left, err)
		}

		if n := transport.Count("StopExecution"); n != 2 {
			t.Errorf("booked %t: stopped %d times, want before and after the name was taken", booked, n)
		}

		if _, err := c.Book(t.Context(), "wait-1/2/shipping", "wait-1"); !errors.Is(err, shipping.ErrCanceled) {
			t.Errorf("booked %t: booked after the cancellation: %v", booked, err)
		}
	}
}

// TestAFailureIsNoAnswer: after a failure no shipment counts as booked, as canceled or as left.
func TestAFailureIsNoAnswer(t *testing.T) {
	c, client, transport := newCarrierBehind(t)

	if _, err := c.Book(t.Context(), "wait-1/2/shipping", "wait-1"); err != nil {
		t.Fatal(err)
	}

	for operation, call := range map[string]func() error{
		"StopExecution":     func() error { _, err := c.Cancel(t.Context(), "wait-1/2/shipping"); return err },
		"DescribeExecution": func() error { _, err := c.Cancel(t.Context(), "wait-1/2/shipping"); return err },
		"StartExecution":    func() error { _, err := c.Book(t.Context(), "wait-2/2/shipping", "wait-2"); return err },
	} {
		transport.Inject(embeddedtest.LoseRequest(operation).Next(1))

		if err := call(); !errors.Is(err, embeddedtest.ErrLost) || !strings.Contains(err.Error(), "execution of shipment wait-") {
			t.Errorf("%s: %v", operation, err)
		}
	}

	// An execution of another program has the name.
	_, err := client.StartExecution(t.Context(), &sfn.StartExecutionInput{
		StateMachineArn: aws.String("arn:aws:states:" + region(t, client) + ":stateMachine:warehouse"), Name: aws.String("other-2-shipping"), Input: aws.String(`["other"]`),
	})
	if err != nil {
		t.Fatal(err)
	}

	if tracking, err := c.Book(t.Context(), "other/2/shipping", "other"); err == nil || !strings.Contains(err.Error(), "input") {
		t.Errorf("booked %q, %v", tracking, err)
	}
}

// TestAStatusSaysWhetherAParcelLeaves: only an execution that has succeeded is a booking that stands. The status
// comes from DescribeExecution, which may be older than the answer that the execution has ended.
func TestAStatusSaysWhetherAParcelLeaves(t *testing.T) {
	c, client, transport := newCarrierBehind(t)
	const key = "quick-1/2/shipping"

	if _, err := c.Book(t.Context(), key, "quick-1"); err != nil {
		t.Fatal(err)
	}

	awaitEnd(t, client, "quick-1-2-shipping")

	for _, row := range []struct {
		status string
		booked error // nil: the tracking number is returned
		left   bool
	}{
		{"SUCCEEDED", nil, true},
		{"FAILED", shipping.ErrCanceled, false},
		{"TIMED_OUT", shipping.ErrCanceled, false},
		{"ABORTED", shipping.ErrCanceled, false},
	} {
		describe(transport, row.status, "")

		if _, err := c.Book(t.Context(), key, "quick-1"); !errors.Is(err, row.booked) || row.booked != nil && !strings.Contains(err.Error(), row.status+" Address.Unknown") {
			t.Errorf("%s: Book: %v", row.status, err)
		}

		if left, err := c.Cancel(t.Context(), key); err != nil || left != row.left {
			t.Errorf("%s: Cancel: left %t, %v", row.status, left, err)
		}
	}

	for _, row := range []struct{ status, shipment, text string }{
		{"RUNNING", "", "RUNNING"},
		{"PENDING_REDRIVE", "", "PENDING_REDRIVE"},
		{"SUCCEEDED", "quick/1/2/shipping", "shipment \"quick/1/2/shipping\""},
	} {
		describe(transport, row.status, row.shipment)

		tracking, err := c.Book(t.Context(), key, "quick-1")
		if err == nil || errors.Is(err, shipping.ErrCanceled) || !strings.Contains(err.Error(), row.text) {
			t.Errorf("%s: Book: %q, %v", row.status, tracking, err)
		}

		if left, err := c.Cancel(t.Context(), key); err == nil || !strings.Contains(err.Error(), row.text) {
			t.Errorf("%s: Cancel: left %t, %v", row.status, left, err)
		}
	}
}

// describe makes DescribeExecution answer with the status. An empty shipment is the one that was booked.
func describe(transport *embeddedtest.Transport, status, shipment string) {
	in := `{\"shipment\":\"` + cmp.Or(shipment, "quick-1/2/shipping") + `\",\"orderId\":\"quick-1\",\"canceled\":false}`

	transport.Around(func(call *embeddedtest.Call, send embeddedtest.Sender) (*http.Response, error) {
		if call.Operation != "DescribeExecution" {
			return send()
		}

		return call.Respond(http.StatusOK, `{"status":"`+status+`","error":"Address.Unknown","input":"`+in+`"}`), nil
	})
}

func TestNewNamesWhatBreaksARule(t *testing.T) {
	if _, err := sfncarrier.New(nil, ""); err == nil || !strings.Contains(err.Error(), "client") {
		t.Errorf("got %v", err)
	}

	if _, err := sfncarrier.New(&sfn.Client{}, "warehouse"); err == nil || !strings.Contains(err.Error(), "ARN") {
		t.Errorf("got %v", err)
	}
}
