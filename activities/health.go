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

// The waits after failed polls. After a quota error they are at least a second, because a
// retry counts against the same quota. An activity that is denied is tried now and then,
// because an operator may give the permission back.
var (
	pollBackoff   = worker.Backoff{Base: 200 * time.Millisecond, Max: 10 * time.Second}
	quotaBackoff  = worker.Backoff{Base: time.Second, Max: 10 * time.Second}
	deniedBackoff = worker.Backoff{Base: 30 * time.Second, Max: 30 * time.Second}
)

// health summarizes the polls of an activity.
type health struct {
	answeredAt time.Time // the last answered poll; zero before the first
	failures   int       // polls that failed in a row

	// refusal is the error code of an unbroken run of failures that last until an
	// operator acts, all with this code; refusedSince is the time of the first.
	refusal      string
	refusedSince time.Time
	denied       error // set when the run has lasted too long
}

// answered takes note of an answered poll. It reports whether the activity had been
// denied before.
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
	// Any other error breaks the run: an outage in between says that the refusal may be over.
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

	// Delay may return half of Base, so the other half makes Base the shortest wait.
	return backoff.Delay(h.failures) + backoff.Base/2, denied
}

var throttles = retry.IsErrorThrottles(retry.DefaultThrottles)

// exceedsQuota recognizes the answers that ask for fewer calls. The SDK's own list has
// neither the limit on the polls of an activity nor the throttling of KMS.
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
