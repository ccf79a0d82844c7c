package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"ratchet/internal/dynamo"
	"ratchet/once"
	"ratchet/once/txn"
)

// repetition says how the repeat of a request gets the answer of the first one. Each route
// that changes something has one.
type repetition int

const (
	// fromRecord: the handler makes the first answer from the record of the domain package.
	fromRecord repetition = iota + 1
	// fromAnswer: the domain package recognizes the repeat and does nothing; the first
	// answer is stored. The handler marks repeats.
	fromAnswer
	// firstStored is fromAnswer for a handler that cannot tell a repeat from the first
	// request: the request whose answer is stored is the first.
	firstStored
	// ifKeyed: each request is a new one, unless it has an Idempotency-Key. The key is
	// claimed before the handler runs.
	ifKeyed
)

// repeatable is an output that can be marked as a repeat.
type repeatable interface {
	MarkReplayed()
	IsReplayed() bool
}

// errNotRepeatable says that a route that changes something has no rule for its repeats.
var errNotRepeatable = errors.New("api: a route that changes something needs a repetition, and an output with input.Repeat")

type handleFunc[I, O any] func(context.Context, caller, *I) (*O, error)

// withRepeats returns the handler of the route with its rule for repeats.
func withRepeats[I, O any](s *service, to route, handle handleFunc[I, O]) handleFunc[I, O] {
	if !to.mutates {
		return handle
	}

	// A mistake in a route, found when the routes are registered.
	if _, ok := any(new(O)).(repeatable); !ok || to.repeats == 0 {
		panic(fmt.Errorf("%w: %s", errNotRepeatable, to.id))
	}

	switch to.repeats {
	case fromAnswer, firstStored:
		return func(ctx context.Context, c caller, in *I) (*O, error) {
			out, err := handle(ctx, c, in)
			if err != nil {
				return nil, err
			}

			return keepAnswer(ctx, s, to, c, in, out)
		}
	case ifKeyed:
		return func(ctx context.Context, c caller, in *I) (*O, error) {
			if callOf(ctx).key == "" {
				return handle(ctx, c, in)
			}

			return claimAnswer(ctx, s, to, c, in, handle)
		}
	}

	return handle
}

// keepAnswer stores the answer to the request, or returns the stored answer.
func keepAnswer[I, O any](ctx context.Context, s *service, to route, c caller, in *I, out *O) (*O, error) {
	content, err := contentOf(ctx, in)
	if err != nil {
		return nil, err
	}

	output, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}

	parts := s.identity(ctx, to, c)
	if to.contentIsIdentity {
		parts = append(parts, string(content))
	}

	kept, first, err := s.answers.keep(ctx, answerKey(parts...), storedAnswer{Content: content, Output: output})
	switch {
	case err != nil:
		return nil, err
	case first:
		return out, nil
	// The domain package did not compare this part of the content.
	case string(kept.Content) != string(content):
		return nil, otherContent(ctx)
	}

	answer, err := decodeAnswer[O](kept.Output)
	if err != nil {
		return nil, err
	}

	// A repeat may have stored its answer before the first request did.
	if to.repeats == firstStored || any(out).(repeatable).IsReplayed() {
		any(answer).(repeatable).MarkReplayed()
	}

	return answer, nil
}

// claimLease is longer than any request takes.
const claimLease = requestTimeout + 10*time.Second

// claimAnswer runs the handler under a claim of the request's key, once.
func claimAnswer[I, O any](ctx context.Context, s *service, to route, c caller, in *I, handle handleFunc[I, O]) (*O, error) {
	content, err := contentOf(ctx, in)
	if err != nil {
		return nil, err
	}

	claims, err := s.answerClaims()
	if err != nil {
		return nil, err
	}
	key := answerKey(s.identity(ctx, to, c)...)

	var out *O
	var failed error // the handler's own error

	stored, replayed, err := claims.Waiting(claimWait).Do(ctx, key, content, func(ctx context.Context, _ *once.Claim) ([]byte, error) {
		if out, failed = handle(ctx, c, in); failed != nil {
			return nil, withEffect(ctx, failed)
		}

		output, err := json.Marshal(out)
		if err == nil {
			output, err = s.answers.seal(key, storedAnswer{Output: output})
		}

		if err != nil {
			// The work was done, and must not be repeated because its answer is missing.
			return nil, once.WithoutResult(err)
		}

		return output, nil
	})

	switch rest, held := once.RetryAfter(err, time.Now()); {
	case failed != nil:
		if err != nil && !errors.Is(err, failed) {
			s.cfg.Log.WarnContext(ctx, "a key stays claimed", "request", callOf(ctx).id, "error", err)
		}

		return nil, failed
	case held:
		return nil, inProgress(rest, "A request with this key is being served.")
	case errors.Is(err, once.ErrMismatch):
		return nil, keyReused()
	case err != nil:
		return nil, err
	case !replayed:
		return out, nil
	}

	answer, err := s.answers.open(key, stored)
	if err != nil {
		return nil, once.ErrResultUnavailable
	}

	again, err := decodeAnswer[O](answer.Output)
	if err == nil {
		any(again).(repeatable).MarkReplayed()
	}

	return again, err
}

// newAnswerClaims returns the claims of requests. A request that died may have had its effect, and no
// operation with the rule ifKeyed can be asked about it: a person has to look.
func newAnswerClaims(cfg Config) (*once.Claims, error) {
	return once.New(once.Config{
		DynamoDB:         cfg.Claims.DynamoDB,
		Table:            cfg.Claims.Table,
		Operation:        "api/answer",
		Lease:            claimLease,
		ExpiredIsUnknown: true,
		Retention:        answersFor,
	})
}

// unknownCodes are the codes of errors that leave open whether there was an effect. Every other error that has
// a code says that nothing was changed.
var unknownCodes = []string{"unavailable", "timeout", "outcome_unknown", "unresolved", "internal"}

// withEffect marks a handler's error with what is known of its effect.
func withEffect(ctx context.Context, err error) error {
	code := ""
	if p := (*problem)(nil); errors.As(err, &p) {
		code = p.Code
	} else if i := slices.IndexFunc(domainErrors, func(d domainError) bool { return errors.Is(err, d.err) }); i >= 0 {
		code = domainErrors[i].code
	}

	switch {
	// Whatever else the error says: a write had no answer.
	case errors.Is(err, dynamo.ErrUnanswered), errors.Is(err, txn.ErrUnknown):
		return errors.Join(err, once.ErrAmbiguous)
	case code != "" && !slices.Contains(unknownCodes, code):
		return once.NotBegun(err)
	case code != "" || dynamo.OutcomeUnknown(ctx, err):
		return errors.Join(err, once.ErrAmbiguous)
	}

	return err // DynamoDB has refused a call, and there may have been others before
}

// inProgress is the problem of a request whose key is held for a while. The time is rounded up, so that a
// client does not come back too early.
func inProgress(rest time.Duration, detail string) *problem {
	return newProblem(http.StatusConflict, "in_progress", detail).retryAfter(max(1, int(math.Ceil(rest.Seconds()))))
}

func decodeAnswer[O any](output []byte) (*O, error) {
	answer := new(O)
	if err := json.Unmarshal(output, answer); err != nil {
		return nil, fmt.Errorf("read the stored answer: %w", err)
	}

	return answer, nil
}

// otherContent is the problem of a request whose id or key was used with other content.
func otherContent(ctx context.Context) *problem {
	if callOf(ctx).key != "" {
		return keyReused()
	}

	return newProblem(http.StatusConflict, "conflict", detailIDReused)
}

// identity returns the parts that a request and its repeats have in common: the tenant, the
// route, the ids in the path, and the key.
func (s *service) identity(ctx context.Context, to route, c caller) []string {
	call := callOf(ctx)

	return append([]string{string(c.tenant), to.id, call.key}, call.path...)
}

// contentOf returns the digest of the request's content: its body, as the route reads it,
// so that members with their default values make no difference.
func contentOf(ctx context.Context, in any) ([]byte, error) {
	body := reflect.ValueOf(in).Elem().FieldByName("Body")
	if !body.IsValid() {
		// This is a callback, or a route without a body, which has no raw bytes.
		return digestOf(callOf(ctx).raw), nil
	}

	text, err := json.Marshal(body.Interface())
	if err != nil {
		return nil, err
	}

	// Without a canonical form, because of numbers beyond 2^53, the text is compared.
	if canonical, err := once.Canonical(text); err == nil {
		text = canonical
	}

	return digestOf(text), nil
}

var pathParameter = regexp.MustCompile(`\{([A-Za-z]+)\}`)

// pathNames returns the names of the parameters in the path.
func pathNames(path string) []string {
	var names []string
	for _, name := range pathParameter.FindAllStringSubmatch(path, -1) {
		names = append(names, name[1])
	}

	return names
}

// pathValues returns the ids in the path of the request.
func (r route) pathValues(request *http.Request) []string {
	values := make([]string, 0, len(r.pathNames)+1)
	for _, name := range r.pathNames {
		value := request.PathValue(name)
		if name == "action" {
			value = strings.ToUpper(value) // codes of both cases are the same
		}
		values = append(values, value)
	}

	return values
}

// unquoteKey returns an Idempotency-Key without the quotes of a structured field (RFC 8941),
// so that "abc" and abc are the same key. It reports false if the quotes do not match.
func unquoteKey(key string) (string, bool) {
	if !strings.HasPrefix(key, `"`) {
		return key, true
	}

	inner, closed := strings.CutSuffix(key[1:], `"`)

	var out strings.Builder
	for i := 0; i < len(inner); i++ {
		switch ch := inner[i]; {
		case ch == '"':
			return "", false
		case ch != '\\':
			out.WriteByte(ch)
		case i+1 < len(inner) && (inner[i+1] == '"' || inner[i+1] == '\\'):
			i++
			out.WriteByte(inner[i])
		default:
			return "", false
		}
	}

	return out.String(), closed
}
