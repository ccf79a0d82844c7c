package asl

import (
	"regexp"
	"sync"
)

// functionARN is the form of a Resource that is a Lambda function, with or without a version or
// an alias. As on AWS, the region and the account are not checked.
// Sources: https://docs.aws.amazon.com/step-functions/latest/dg/connect-lambda.html; LocalStack's
// recordings of AWS (test_state, BASE_MAP_STATE_CATCH).
var functionARN = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^arn:(aws|aws-cn|aws-us-gov):lambda:[A-Za-z0-9-]*:[A-Za-z0-9-]*:function:[A-Za-z0-9_-]{1,140}(:[A-Za-z0-9_$-]{1,128})?$`)
})

// parseFunction reads the Resource of a Task that is a function. It returns nil for any other Resource.
func parseFunction(resource string) *Integration {
	if !functionARN().MatchString(resource) {
		return nil
	}

	return &Integration{
		ResourceType: "lambda",
		Resource:     "invoke",
		Service:      "lambda",
		Operation:    "Invoke",
		Function:     resource,
	}
}
