package once_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/embedded/embeddedtest"
	"ratchet/once"
)

// unsent fails before a request is made, as a client without credentials does.
type unsent struct{ *meter }

func (unsent) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, errOutage
}

// Work runs without a claim only if DynamoDB cannot be asked: it does not answer, reports a
// fault of its own, or has no capacity. A refusal is none of these.
func TestWorkRunsWithoutAClaimOnlyInAnOutage(t *testing.T) {
	status := func(status int, code string) error { return &embeddedtest.Error{Code: code, Status: status} }

	for about, row := range map[string]struct {
		fault   error
		unsent  bool
		outcome once.Outcome // of the claim; none if the work must not run
	}{
		"DynamoDB answers":                {outcome: once.Acquired},
		"no connection":                   {fault: errOutage, outcome: once.Untracked},
		"the request was not sent":        {unsent: true, outcome: once.Untracked},
		"a fault of the service":          {fault: status(http.StatusInternalServerError, "InternalServerError"), outcome: once.Untracked},
		"the service is being restarted":  {fault: status(http.StatusServiceUnavailable, "ServiceUnavailable"), outcome: once.Untracked},
		"throttling":                      {fault: status(http.StatusBadRequest, "ThrottlingException"), outcome: once.Untracked},
		"the table's capacity is used up": {fault: status(http.StatusBadRequest, "ProvisionedThroughputExceededException"), outcome: once.Untracked},
		"no permission":                   {fault: status(http.StatusBadRequest, "AccessDeniedException")},
		"no table":                        {fault: status(http.StatusBadRequest, "ResourceNotFoundException")},
		"an answer without a code":        {fault: status(http.StatusNotFound, "")},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWatchedClaims(t)
			open := w.with(t, func(c *once.Config) {
				if c.FailOpen = true; row.unsent {
					c.DynamoDB = unsent{w.db}
				}
			})

			if row.fault != nil {
				w.transport.Inject(embeddedtest.LoseRequest("UpdateItem").With(row.fault))
			}
			var ran once.Outcome

			got, replayed, err := open.Do(t.Context(), "k", payload, func(_ context.Context, c *once.Claim) ([]byte, error) {
				w.transport.Clear()
				ran = c.Outcome

				return []byte("r"), nil
			})
			if ran != row.outcome || replayed || (err == nil) != (ran != "") || err == nil && string(got) != "r" {
				t.Errorf("%s: the work ran as %q, want %q; %q %t %v", about, ran, row.outcome, got, replayed, err)
			}
		})
	}
}

// A caller that has gone does not want the work done.
func TestWorkDoesNotRunWithoutAClaimForACallerThatHasGone(t *testing.T) {
	w := newWatchedClaims(t, func(c *once.Config) { c.FailOpen = true })
	ctx, cancel := context.WithCancel(t.Context())
	w.transport.Before(func(*embeddedtest.Call) error { cancel(); return errOutage })
	job := &work{}

	if _, _, err := w.Do(ctx, "k", payload, job.do); !errors.Is(err, context.Canceled) || job.calls != 0 {
		t.Errorf("%v, %d calls", err, job.calls)
	}
}
