package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// Pauses between attempts to deliver an answer.
const (
	answerPause    = 100 * time.Millisecond
	answerPauseMax = 5 * time.Second
	answerCall     = 30 * time.Second
)

// reply is what goes to the service: an output or a failure. It is composed once
// and sent until it arrives.
type reply struct {
	failure     bool
	output      string
	name, cause string
	err         error
}

// compose makes the reply to what the handler returned.
func (w *Worker) compose(r *run, output any, err error) reply {
	if err != nil {
		return w.failure(err)
	}

	body, err := encode(output)
	if err != nil {
		return w.failure(&Error{Name: w.cfg.ErrorPrefix + NameOutput, Err: fmt.Errorf("output of %s: %w", r.task.Activity, err)})
	}

	if len(body) > maxOutput && w.cfg.Offload != nil {
		if body, err = w.offload(r, body); err != nil {
			return w.failure(fmt.Errorf("store the output of %s: %w", r.task.Activity, err))
		}

		if !json.Valid(body) {
			return w.failure(&Error{Name: w.cfg.ErrorPrefix + NameOutput, Cause: "what stands for the stored output is not JSON"})
		}
	}

	if len(body) > maxOutput {
		return w.failure(&Error{
			Name:  w.cfg.ErrorPrefix + NameDataLimit,
			Cause: fmt.Sprintf("output of %s has %d bytes, at most %d are allowed", r.task.Activity, len(body), maxOutput),
		})
	}

	return reply{output: string(body)}
}

// offload stores a large output; it may take as long as an answer may.
func (w *Worker) offload(r *run, body json.RawMessage) (_ json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(w.answers, w.cfg.AnswerTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v}
		}
	}()

	return w.cfg.Offload(ctx, r.task, body)
}

func (w *Worker) failure(err error) reply {
	name, cause := w.cfg.nameOf(err)
	return reply{failure: true, name: cut(name, maxName), cause: cut(cause, maxCause), err: err}
}

// encode turns a handler's output into JSON.
func encode(output any) (body json.RawMessage, err error) {
	defer func() { // a MarshalJSON may panic
		if v := recover(); v != nil {
			err = fmt.Errorf("encode: panic: %v", v)
		}
	}()

	if raw, ok := output.(json.RawMessage); ok && len(raw) > 0 {
		if !json.Valid(raw) {
			return nil, errors.New("not valid JSON")
		}
		return raw, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)

	if err := e.Encode(output); err != nil {
		return nil, err
	}

	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// cut shortens s to at most n bytes of valid UTF-8.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}

	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}

	return s[:n]
}

// send delivers the reply. It returns "" when the service accepted it, Lost when
// the task is not ours any more, and Unanswered when time ran out.
func (r *run) send(rep reply) (Outcome, error) {
	ctx, cancel := context.WithTimeout(r.w.answers, r.w.cfg.AnswerTimeout)
	defer cancel()

	for wait := answerPause; ; wait = min(2*wait, answerPauseMax) {
		err := r.try(ctx, rep)
		var invalid *sfntypes.InvalidOutput
		switch {
		case err == nil:
			return "", nil
		case isLost(err):
			return Lost, err
		case errors.As(err, &invalid) && !rep.failure:
			rep = r.w.failure(&Error{Name: r.w.cfg.ErrorPrefix + NameOutput, Err: err})
			if err := r.try(ctx, rep); err == nil {
				return Failed, rep.err
			}
		}
		pause(ctx, wait/2+rand.N(wait/2+1)) //nolint:gosec // jitter

		if ctx.Err() != nil {
			return Unanswered, err
		}

		if r.beats != nil && !r.beats.between(ctx) {
			return Lost, err
		}
	}
}

func (r *run) try(ctx context.Context, rep reply) error {
	ctx, cancel := context.WithTimeout(ctx, answerCall)
	defer cancel()

	token := aws.String(string(r.task.Token))
	var err error
	if rep.failure {
		_, err = r.w.cfg.SFN.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{TaskToken: token, Error: &rep.name, Cause: &rep.cause}, unretried)
	} else {
		_, err = r.w.cfg.SFN.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: token, Output: &rep.output}, unretried)
	}

	return err
}
