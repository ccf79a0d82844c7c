package steps

import (
	"slices"
	"time"

	"ratchet/activities"
	"ratchet/transitions"
)

// ErrorClass is one row of the table of errors: how the state machine handles a failure. The Retry
// and Catch of statemachine.asl.json are generated from the rows (`make asl`).
type ErrorClass struct {
	Name string
	// Of says which states may raise the errors.
	Of States
	// Errors are the names. A name is in one row only for each state that may raise it.
	Errors []string
	// Retry says how often and when the task runs again; nil for never.
	Retry *Retry
	// Then says what happens if the failure is not retried, or after the last retry.
	Then Ending
}

// States selects states of the state machine.
type States string

// Tasks are run by workers. The token of a wait is stored by Step Functions itself.
const (
	AllStates States = "all"
	Tasks     States = "tasks"
	Waits     States = "waits"
)

// Ending says what happens after a failure that is not retried, or after the last retry.
type Ending string

const (
	// Caught: the error is an answer. A Catch goes on from it.
	Caught Ending = "caught"
	// Redriven: the execution fails in the task, so that a redrive runs the task again.
	Redriven Ending = "redriven"
	// Succeeded: a redrive would fail in the same way. A successor adopts the order.
	Succeeded Ending = "succeeded"
)

// Retry is a Retrier. The pauses have no jitter, so that the window is exact. Orders need no jitter:
// they fail at different times, so their retries come at different times, too.
type Retry struct {
	// First is the first pause, at least 1 s. Each later pause is Rate times as long as the one before,
	// up to Longest. If Longest is 0, all pauses are as long as First.
	First   time.Duration
	Rate    float64
	Longest time.Duration
	// Attempts is how often the task runs again.
	Attempts int
}

// Window returns the sum of all pauses: the time from the first failure to the last try, without the
// time that the tries themselves take.
func (r Retry) Window() time.Duration {
	var window time.Duration
	pause := r.First

	for range r.Attempts {
		window += pause

		if r.Longest > 0 {
			pause = min(time.Duration(float64(pause)*r.Rate), r.Longest)
		}
	}

	return window
}

// The retries. With throughOutage an order waits through an outage of eight hours. The tries are at
// most five minutes apart, so the order goes on at most five minutes after the outage.
var (
	throughOutage = Retry{First: time.Second, Rate: 2, Longest: 5 * time.Minute, Attempts: 104}
	bounded       = Retry{First: time.Second, Rate: 2, Longest: time.Minute, Attempts: 10}
)

// outageWindow is the length of the longest outage that every order waits through.
const outageWindow = 8 * time.Hour

// ErrorClasses returns the table.
func ErrorClasses() []ErrorClass {
	worker := func(name string) string { return ErrorPrefix + name }

	table := []ErrorClass{
		{
			Name: "outage", Of: Tasks, Retry: &throughOutage, Then: Redriven,
			Errors: []string{
				nameUnavailable, nameInProgress, nameGatewayTimeout, nameIncomplete,
				// Another worker, or the same one later, may well succeed.
				worker(activities.NameDeadline), worker(activities.NameShutdown),
				// For a task these two mean that its worker died, or that its token was lost on the wire. The
				// time-out of a wait is in the row "deadline".
				"States.Timeout", "States.HeartbeatTimeout",
			},
		},
		{
			Name: "outage of DynamoDB", Of: Waits, Retry: &throughOutage, Then: Redriven,
			Errors: dynamoDBErrors(
				"InternalServerErrorException", "InternalServerException", "ItemCollectionSizeLimitExceededException",
				"ProvisionedThroughputExceededException", "ReplicatedWriteConflictException", "RequestLimitExceededException",
				"SdkClientException", "ServiceUnavailableException", "ThrottlingException", "TransactionConflictException",
			),
		},
		{
			Name: "unknown", Of: Tasks, Retry: &bounded, Then: Redriven,
			Errors: []string{worker(activities.NameUnknown)},
		},
		{
			Name: "refused by DynamoDB", Of: Waits, Retry: &bounded, Then: Redriven,
			Errors: dynamoDBErrors("AccessDeniedException", "DynamoDbException", "ResourceNotFoundException"),
		},
		{
			Name: "refused", Of: Tasks, Then: Caught,
			Errors: []string{nameOutOfStock, namePaymentDeclined},
		},
		{
			Name: "overtaken", Of: AllStates, Then: Caught,
			Errors: OvertakenErrors(),
		},
		{
			Name: "moved before the wait", Of: Waits, Then: Caught,
			Errors: movedErrors(),
		},
		{
			// A wait that times out is no outage: the order did not move in time.
			Name: "deadline", Of: Waits, Then: Caught,
			Errors: []string{"States.Timeout"},
		},
		{
			Name: "final", Of: AllStates, Then: Redriven,
			Errors: []string{
				nameInvalidInput, nameAlreadyAccepted, nameOtherContent, nameOtherExecution, NameOtherLife, nameClosed, nameUnknownVersion,
				verdictName(transitions.NotFound), verdictName(transitions.Illegal),
				worker(activities.NamePanic), worker(activities.NameDataLimit), worker(activities.NameOutput),
				"States.DataLimitExceeded", "States.Permissions",
			},
		},
		{
			Name: "fault of the state machine", Of: AllStates, Then: Succeeded,
			Errors: []string{
				"States.Runtime", "States.NoChoiceMatched", "States.ParameterPathFailure", "States.ResultPathMatchFailure",
				"States.IntrinsicFailure", "States.QueryEvaluationError",
			},
		},
	}

	return append(table, retryAfterClasses()...)
}

// retryAfterClasses returns a row for each wait that a step can ask for with
// activities.RetryAfter. The first pause is the wait.
func retryAfterClasses() (rows []ErrorClass) {
	for _, c := range activities.RetryClasses() {
		retry := Retry{First: c.Wait}
		// A longer wait stays as it is: Rate and Longest are 0, so the pauses do not grow.
		if c.Wait < throughOutage.Longest {
			retry.Rate, retry.Longest = throughOutage.Rate, throughOutage.Longest
		}

		for retry.Window() < outageWindow {
			retry.Attempts++
		}

		rows = append(rows, ErrorClass{
			Name: "asked to wait " + c.Wait.String(), Of: Tasks, Retry: &retry, Then: Redriven,
			Errors: []string{ErrorPrefix + c.Name},
		})
	}

	return rows
}

// dynamoDBErrors returns the names of a wait's errors, as the AWS SDK integration writes them.
func dynamoDBErrors(exceptions ...string) (names []string) {
	for _, exception := range exceptions {
		names = append(names, "DynamoDb."+exception)
	}

	return names
}

// movedErrors are the error names of a wait that could not begin because the order had moved. The
// first one is raised by the AWS SDK integration, the second one by Step Functions' optimized
// integration of DynamoDB.
func movedErrors() []string {
	return []string{"DynamoDb.ConditionalCheckFailedException", "DynamoDB.ConditionalCheckFailedException"}
}

// OvertakenErrors are the error names of a transition whose order was moved by another
// caller. Their cause is the order's position as JSON.
func OvertakenErrors() []string {
	return []string{verdictName(transitions.Superseded), verdictName(transitions.WrongState), verdictName(transitions.Conflict)}
}

// RetryableErrors are the error names that the state machine retries.
func RetryableErrors() []string {
	return errorsOf(func(c ErrorClass) bool { return c.Retry != nil })
}

// TerminalErrors are the error names that no state may retry, because the same input fails again. They
// do not include [OvertakenErrors].
func TerminalErrors() []string {
	overtaken := OvertakenErrors()

	names := errorsOf(func(c ErrorClass) bool { return c.Retry == nil && c.Of != Waits })

	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(overtaken, name) })
}

func errorsOf(selected func(ErrorClass) bool) (names []string) {
	for _, c := range ErrorClasses() {
		if selected(c) {
			names = append(names, c.Errors...)
		}
	}

	return names
}
