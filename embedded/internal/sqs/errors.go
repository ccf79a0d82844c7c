package sqs

import "ratchet/embedded/internal/wire"

// queryCodes are the names that the service's older Query protocol has for errors
// whose name has changed. Both go over the wire.
// Source: the model of the service, trait aws.protocols#awsQueryError.
var queryCodes = map[string]string{
	"BatchEntryIdsNotDistinct":       "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
	"BatchRequestTooLong":            "AWS.SimpleQueueService.BatchRequestTooLong",
	"EmptyBatchRequest":              "AWS.SimpleQueueService.EmptyBatchRequest",
	"InvalidBatchEntryId":            "AWS.SimpleQueueService.InvalidBatchEntryId",
	"MessageNotInflight":             "AWS.SimpleQueueService.MessageNotInflight",
	"QueueDoesNotExist":              "AWS.SimpleQueueService.NonExistentQueue",
	"QueueNameExists":                "QueueAlreadyExists",
	"TooManyEntriesInBatchRequest":   "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
	"UnsupportedOperation":           "AWS.SimpleQueueService.UnsupportedOperation",
	"InvalidParameterValueException": "InvalidParameterValue",
	"MissingParameterException":      "MissingParameter",
}

func queryCode(typ string) string {
	if code, ok := queryCodes[typ]; ok {
		return code
	}
	return typ
}

// invalidParameter is the refusal of a value; value is what was sent.
func invalidParameter(parameter, value, reason string) *wire.Error {
	e := wire.Errorf("InvalidParameterValueException", "Value %s for parameter %s is invalid. Reason: %s", value, parameter, reason)
	e.Prefix = "com.amazon.coral.service#"
	return e
}

func missingParameter(parameter string) *wire.Error {
	e := wire.Errorf("MissingParameterException", "The request must contain the parameter %s.", parameter)
	e.Prefix = "com.amazon.coral.service#"
	return e
}

func unsupported(what string) *wire.Error {
	return wire.Errorf("UnsupportedOperation", "%s is not supported by the embedded engine", what)
}

func noQueue() *wire.Error {
	return wire.Errorf("QueueDoesNotExist", "The specified queue does not exist.")
}
