package worker

import (
	"errors"
	"slices"

	"github.com/aws/smithy-go"
	"github.com/cenkalti/backoff/v5"
)

// Permanent marks err as an error that no retry can change. The text stays the same and
// errors.Is and errors.As see through the mark. Permanent(nil) is nil.
func Permanent(err error) error { return backoff.Permanent(err) }

// IsPermanent reports whether err or an error that it wraps was marked by Permanent.
func IsPermanent(err error) bool {
	var marked *backoff.PermanentError

	return errors.As(err, &marked)
}

// refusals are the codes of every AWS service for a caller that may not make the call:
// "Common errors" in the services' API references. JSON and query protocols name some of
// them differently.
var refusals = []string{
	"AccessDenied",
	"AccessDeniedException",
	"InvalidClientTokenId",
	"InvalidSignatureException",
	"MissingAuthenticationTokenException",
	"SignatureDoesNotMatch",
	"UnrecognizedClientException",
}

// IsRefusal reports whether err is an answer of AWS that stays the same until an operator acts: the
// caller has no permission for the call, or the answer has one of the given error codes of the
// service (no such queue, key disabled). Callers retry such an error for a while all the same,
// because permissions and new resources take time to arrive.
func IsRefusal(err error, codes ...string) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}

	return slices.Contains(refusals, api.ErrorCode()) || slices.Contains(codes, api.ErrorCode())
}
