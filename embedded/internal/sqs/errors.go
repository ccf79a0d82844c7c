package sqs

import (
	"fmt"

	"ratchet/embedded/internal/wire"
)

// queryCodes are the names that errors had in the service's older Query protocol, where
// they differ. Both names go over the wire.
// Source: the trait aws.protocols#awsQueryError in the service's API model.
var queryCodes = map[string]string{
	"BatchEntryIdsNotDistinct":          "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
	"BatchRequestTooLong":               "AWS.SimpleQueueService.BatchRequestTooLong",
	"EmptyBatchRequest":                 "AWS.SimpleQueueService.EmptyBatchRequest",
	"InvalidBatchEntryId":               "AWS.SimpleQueueService.InvalidBatchEntryId",
	"MessageNotInflight":                "AWS.SimpleQueueService.MessageNotInflight",
	"QueueDoesNotExist":                 "AWS.SimpleQueueService.NonExistentQueue",
	"QueueNameExists":                   "QueueAlreadyExists",
	"TooManyEntriesInBatchRequest":      "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
	"UnsupportedOperation":              "AWS.SimpleQueueService.UnsupportedOperation",
	"InvalidParameterValueException":    "InvalidParameterValue",
	"MissingRequiredParameterException": "MissingParameter",
}

func queryCode(errorType string) string {
	if code, ok := queryCodes[errorType]; ok {
		return code
	}

	return errorType
}

// invalidParameter returns the error for a value that a parameter cannot have.
func invalidParameter(parameter, value, reason string) *wire.Error {
	e := wire.Errorf("InvalidParameterValueException", "Value %s for parameter %s is invalid. Reason: %s", value, parameter, reason)
	e.Prefix = "com.amazon.coral.service#"

	return e
}

// invalidText is invalidParameter with another text.
func invalidText(format string, args ...any) *wire.Error {
	e := invalidParameter("", "", "")
	e.Message = fmt.Sprintf(format, args...)

	return e
}

// missingParameter returns the error for a parameter that a request must have.
// Source: LocalStack's recordings of AWS (tests/aws/services/sqs, test_send_empty_message)
func missingParameter(parameter string) *wire.Error {
	e := wire.Errorf("MissingRequiredParameterException", "The request must contain the parameter %s.", parameter)
	e.Prefix = "com.amazon.coral.service#"

	return e
}

func unsupported(what string) *wire.Error {
	return wire.Errorf("UnsupportedOperation", "%s is not supported by the embedded engine", what)
}

func queueDoesNotExist() *wire.Error {
	return wire.Errorf("QueueDoesNotExist", "The specified queue does not exist.")
}
