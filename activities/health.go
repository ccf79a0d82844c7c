package activities

import (
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"

	"ratchet/internal/worker"
)

// The waits after failed polls. After a quota error the wait is at least 1 s, because a retry counts
// against the same quota. A denied activity is still polled every 30 to 45 s, because an operator may
// give the permission back.
var (
	pollBackoff   = worker.Backoff{Base: 200 * time.Millisecond, Max: 10 * time.Second}
	quotaBackoff  = worker.Backoff{Base: time.Second, Max: 10 * time.Second}
	deniedBackoff = worker.Backoff{Base: 30 * time.Second, Max: 30 * time.Second}
)

// health summarizes the polls of an activity.
type health struct {
	answeredAt time.Time // when the newest poll was answered; zero before the first answer
	failures   int       // polls that failed in a row

	// refusal is the error code of the newest polls, if they have all failed with one code that lasts
	// until an operator acts; else it is empty. refusedSince is the time of the first of these polls.
	refusal      string
	refusedSince time.Time
	denied       error // set when these failures have lasted too long
}

// answered takes note of an answered poll. It reports whether the activity counted as denied until
// now.
func (h *health) answered(now time.Time) (again bool) {
	again = h.denied != nil
	*h = health{answeredAt: now}

	return again
}

// failed takes note of a failed poll. It returns how long to wait before the next, and
// whether the activity must now count as denied.
func (h *health) failed(now time.Time, err error, fatalAfter time.Duration) (wait time.Duration, denied bool) {
	h.failures++

	code := refusalCode(err)
	// Another error begins the time again: if the service fails in another way in between, the refusal
	// may be over.
	if code != h.refusal {
		h.refusal, h.refusedSince = code, now
	}

	if code != "" && h.denied == nil && now.Sub(h.refusedSince) >= fatalAfter {
		denied = true
	}

	backoff := pollBackoff
	switch {
	case h.denied != nil || denied:
		backoff = deniedBackoff
	case exceedsQuota(err):
		backoff = quotaBackoff
	}

	// Delay returns at least half of Base. With the other half the shortest wait is Base.
	return backoff.Delay(h.failures) + backoff.Base/2, denied
}

var throttles = retry.IsErrorThrottles(retry.DefaultThrottles)

// exceedsQuota reports whether the answer asks for fewer calls. The SDK's own list lacks the error for
// too many polls of an activity and the error for throttling by KMS.
func exceedsQuota(err error) bool {
	var polls *sfntypes.ActivityWorkerLimitExceeded
	var kms *sfntypes.KmsThrottlingException

	return errors.As(err, &polls) || errors.As(err, &kms) || throttles.IsErrorThrottle(err) == aws.TrueTernary
}

// refusalCode returns the code of an error of GetActivityTask that lasts until an
// operator acts (its API reference, "Errors"), and "" for any other error.
func refusalCode(err error) string {
	var answer smithy.APIError
	if errors.As(err, &answer) && worker.IsRefusal(err, "ActivityDoesNotExist", "InvalidArn", "ValidationException",
		"KmsAccessDeniedException", "KmsInvalidStateException") {
		return answer.ErrorCode()
	}

	return ""
}
