package doctor

import (
	"errors"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
)

// isDenied reports whether the service has refused the call because a permission is missing.
func isDenied(err error) bool {
	return hasCode(err, "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError")
}

// isRejected reports whether the service has rejected the credentials themselves.
func isRejected(err error) bool {
	// The protocols of the services name the same fault differently: query (STS, IAM), JSON
	// (DynamoDB) and REST.
	return hasCode(err, "UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException", "SignatureDoesNotMatch",
		"ExpiredToken", "ExpiredTokenException", "IncompleteSignature", "IncompleteSignatureException", "MissingAuthenticationToken",
		"MissingAuthenticationTokenException", "InvalidAccessKeyId", "OptInRequired")
}

func hasCode(err error, codes ...string) bool {
	var api smithy.APIError
	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode())
}

// brief returns a short text of an SDK's error: code and message of a service, or the first error
// of the chain that is short enough.
func brief(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		// A service may send a code without a message.
		return strings.TrimSuffix(api.ErrorCode()+": "+api.ErrorMessage(), ": ")
	}

	text := err.Error()
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		if text = inner.Error(); len(text) <= maxBrief {
			break
		}
	}

	return text
}

// maxBrief is how long an error may be before its outer parts are left out.
const maxBrief = 160
