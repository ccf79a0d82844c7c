package asl

import (
	"regexp"
	"strings"
)

// Integration is a call of another service that a Task makes instead of giving work to an
// activity.
type Integration struct {
	// ResourceType and Resource are the ARN's last two parts as histories show them, like
	// "aws-sdk:dynamodb" and "updateItem.waitForTaskToken".
	ResourceType, Resource string
	// Service and Operation name the call on the wire, like "dynamodb" and "UpdateItem".
	Service, Operation string
	// SDK tells an AWS SDK integration from an optimized one.
	SDK bool
	// Sync reports that the task ends with the execution that its call starts. Parsed reports that the
	// answer then has that execution's input and output as JSON and not as texts.
	Sync, Parsed bool
	// Callback reports that the task ends with the answer to its token, and not with the
	// answer of the call.
	Callback bool
	// Function is the ARN of the Lambda function that is the Resource itself, "" for a call of an API. The
	// function gets the state's input, and its result is the state's result.
	Function string
}

// integrationARN is the form of a Resource that calls a service.
var integrationARN = regexp.MustCompile(`^arn:(aws|aws-cn|aws-us-gov):states:[a-z0-9-]*:\d*:(aws-sdk:)?([a-z0-9]+):([A-Za-z0-9]+)(\.[A-Za-z]+(?::\d)?)?$`)

// The suffixes of a Resource. With callbackPattern the task waits for the answer to its token, with the
// others for the execution that it starts.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/connect-stepfunctions.html
const (
	callbackPattern = ".waitForTaskToken"
	syncPattern     = ".sync"
	parsedPattern   = ".sync:2"
)

// optimized are the optimized integrations that the engine runs, with their allowed suffixes.
// Source: https://docs.aws.amazon.com/step-functions/latest/dg/integrate-services.html
var optimized = map[string][]string{
	"dynamodb:getItem":    {""},
	"dynamodb:putItem":    {""},
	"dynamodb:updateItem": {""},
	"dynamodb:deleteItem": {""},
	"sqs:sendMessage":     {"", callbackPattern},

	"lambda:invoke":         {"", callbackPattern},
	"states:startExecution": {"", syncPattern, parsedPattern, callbackPattern},
}

// unknownResource is the format of the service's fault for a Resource that does not exist.
// Source: LocalStack's recordings of AWS (test_dynamodb_task_service, test_invalid_integration).
const unknownResource = "The resource provided %s is not recognized. " +
	"The value is not a valid resource ARN, or the resource is not available in this region."

// unknownOperation reports whether a Resource names an optimized integration that does not exist on AWS.
// The engine has all optimized integrations of the services that it runs, so any other one is unknown.
func unknownOperation(resource string) bool {
	m := integrationARN.FindStringSubmatch(resource)
	// An SDK integration that the engine does not have may well exist on AWS.
	if m == nil || m[2] != "" {
		return false
	}

	for known := range optimized {
		if service, _, _ := strings.Cut(known, ":"); service == m[3] {
			return true
		}
	}

	return false
}

// sdkServices are the services whose operations the engine runs as AWS SDK integrations.
var sdkServices = map[string]bool{"dynamodb": true, "sqs": true, "sfn": true}

// parseIntegration reads the Resource of a Task. It returns nil if the engine does not run it.
func parseIntegration(resource string) *Integration {
	m := integrationARN.FindStringSubmatch(resource)
	if m == nil {
		return nil
	}

	sdk, service, operation, suffix := m[2] != "", m[3], m[4], m[5]
	allowed := optimized[service+":"+operation]
	if sdk {
		// An SDK integration takes any operation, and has no .sync.
		allowed = nil
		if sdkServices[service] {
			allowed = []string{"", callbackPattern}
		}
	}

	for _, a := range allowed {
		if a != suffix {
			continue
		}

		return &Integration{
			ResourceType: m[2] + service,
			Resource:     operation + suffix,
			Service:      service,
			Operation:    strings.ToUpper(operation[:1]) + operation[1:],
			SDK:          sdk,
			Sync:         suffix == syncPattern || suffix == parsedPattern,
			Parsed:       suffix == parsedPattern,
			Callback:     suffix == callbackPattern,
		}
	}

	return nil
}
