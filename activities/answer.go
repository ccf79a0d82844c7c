package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"ratchet/internal/worker"
)

// answer is the worker's message about a task: an output or a failure. It is composed once, and every
// repeat sends the same, so that repeats cannot contradict each other.
type answer struct {
	failure     bool
	output      string // of a success
	name, cause string // of a failure
	err         error  // the error behind the failure
}

// compose makes the answer from the handler's results.
func (o *outbox) compose(ctx context.Context, t Task, output any, err error) answer {
	if err != nil {
		return o.fail(err)
	}

	body, err := encode(output)
	if err != nil {
		return o.fail(&Error{own: NameOutput, Err: fmt.Errorf("output of %s: %w", t.Activity, err)})
	}

	if len(body) > maxOutput && o.offload != nil {
		if body, err = o.store(ctx, t, body); err != nil {
			return o.fail(fmt.Errorf("store the output of %s: %w", t.Activity, err))
		}

		if !json.Valid(body) {
			return o.fail(&Error{own: NameOutput, Cause: "what Config.Offload returned is not JSON"})
		}
	}

	// Checked after Offload, too: the pointer itself may be too large.
	if len(body) > maxOutput {
		return o.fail(&Error{
			own:   NameDataLimit,
			Cause: fmt.Sprintf("output of %s has %d bytes, at most %d are allowed", t.Activity, len(body), maxOutput),
		})
	}

	return answer{output: string(body)}
}

// store passes a large output to Config.Offload, which has as much time as the delivery of an answer.
func (o *outbox) store(ctx context.Context, t Task, body json.RawMessage) (pointer json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()

	err = call(func() (err error) {
		pointer, err = o.offload(ctx, t, body)
		return err
	})

	return pointer, err
}

// fail makes the answer from an error, within the service's limits.
func (o *outbox) fail(err error) answer {
	name, cause := nameOf(o.prefix, err)

	return answer{failure: true, name: truncate(name, maxName), cause: truncate(cause, maxCause), err: err}
}

// encode turns a handler's output into JSON.
func encode(output any) (body json.RawMessage, err error) {
	if output == nil {
		return json.RawMessage("null"), nil
	}

	if raw, ok := output.(json.RawMessage); ok && len(raw) > 0 {
		if !json.Valid(raw) {
			return nil, errors.New("not valid JSON")
		}

		return raw, nil
	}

	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	// Escaped characters such as \u003c take six bytes, which count against the limit of an output.
	encoder.SetEscapeHTML(false)

	// The output's own MarshalJSON may panic.
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
