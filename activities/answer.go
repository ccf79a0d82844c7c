package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/internal/worker"
)

// answerBackoff is the waits between attempts to deliver an answer.
var answerBackoff = worker.Backoff{Base: 100 * time.Millisecond, Max: 5 * time.Second}

// answerTimeout bounds one call that delivers an answer.
const answerTimeout = 30 * time.Second

// answer is what the service gets for a task: an output or a failure. It is composed
// once and sent until it arrives, so that repeats cannot contradict each other.
type answer struct {
	failure     bool
	output      string // of a success
	name, cause string // of a failure
	err         error  // what the failure was made of
}

// compose makes the answer from what the handler returned.
func (w *Worker) compose(t *inFlight, output any, err error) answer {
	if err != nil {
		return w.failure(err)
	}

	body, err := encode(output)
	if err != nil {
		return w.failure(&Error{Name: w.cfg.ErrorPrefix + NameOutput, Err: fmt.Errorf("output of %s: %w", t.task.Activity, err)})
	}

	if len(body) > maxOutput && w.cfg.Offload != nil {
		if body, err = w.offload(t, body); err != nil {
			return w.failure(fmt.Errorf("store the output of %s: %w", t.task.Activity, err))
		}

		if !json.Valid(body) {
			return w.failure(&Error{Name: w.cfg.ErrorPrefix + NameOutput, Cause: "what Config.Offload returned is not JSON"})
		}
	}

	if len(body) > maxOutput {
		return w.failure(&Error{
			Name:  w.cfg.ErrorPrefix + NameDataLimit,
			Cause: fmt.Sprintf("output of %s has %d bytes, at most %d are allowed", t.task.Activity, len(body), maxOutput),
		})
	}

	return answer{output: string(body)}
}

// offload stores a large output by Config.Offload, within the time that an answer has.
func (w *Worker) offload(t *inFlight, body json.RawMessage) (pointer json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(w.answers, w.cfg.AnswerTimeout)
	defer cancel()

	err = call(func() (err error) {
		pointer, err = w.cfg.Offload(ctx, t.task, body)
		return err
	})

	return pointer, err
}

// failure makes the answer from an error, within the service's limits.
func (w *Worker) failure(err error) answer {
	name, cause := w.cfg.nameOf(err)

	return answer{failure: true, name: truncate(name, maxName), cause: truncate(cause, maxCause), err: err}
}

// encode turns a handler's output into JSON.
func encode(output any) (body json.RawMessage, err error) {
	if raw, ok := output.(json.RawMessage); ok && len(raw) > 0 {
		if !json.Valid(raw) {
			return nil, errors.New("not valid JSON")
		}

		return raw, nil
	}

	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)

	// A MarshalJSON of the output's may panic.
	if err := worker.CatchPanic(func() error { return encoder.Encode(output) }); err != nil {
		return nil, err
	}

	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// truncate shortens s to at most n bytes of valid UTF-8.
func truncate(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}

	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}

	return s[:n]
}

// send delivers the answer. It returns "" when the service accepted it as it is, Failed
// when it accepted a failure instead of an output that it does not take, Lost when the
// task is no longer this worker's, and Unanswered when time ran out.
func (t *inFlight) send(a answer) (Outcome, error) {
	ctx, cancel := context.WithTimeout(t.worker.answers, t.worker.cfg.AnswerTimeout)
	defer cancel()

	for attempt := 1; ; attempt++ {
		err := t.sendOnce(ctx, a)

		var invalid *sfntypes.InvalidOutput
		switch {
		case err == nil:
			return "", nil
		case isLost(err):
			return Lost, err
		case errors.As(err, &invalid) && !a.failure:
			a = t.worker.failure(&Error{Name: t.worker.cfg.ErrorPrefix + NameOutput, Err: err})
			if t.sendOnce(ctx, a) == nil {
				return Failed, a.err
			}
		}

		if !answerBackoff.Wait(ctx, attempt) {
			return Unanswered, err
		}

		if t.heartbeats != nil && !t.heartbeats.keepAlive(ctx) {
			return Lost, err
		}
	}
}

func (t *inFlight) sendOnce(ctx context.Context, a answer) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()

	token := aws.String(string(t.task.Token))

	if a.failure {
		_, err := t.worker.cfg.SFN.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{
			TaskToken: token,
			Error:     &a.name,
			Cause:     &a.cause,
		}, withoutRetries)

		return err
	}

	_, err := t.worker.cfg.SFN.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{
		TaskToken: token,
		Output:    &a.output,
	}, withoutRetries)

	return err
}
