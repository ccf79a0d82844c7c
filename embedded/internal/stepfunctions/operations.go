package stepfunctions

import "ratchet/embedded/internal/wire"

// Wire returns the operations for wire.NewHandler.
func (s *Service) Wire() wire.Service {
	return wire.Service{
		Target:        "AWSStepFunctions",
		MessageKey:    "message",
		InternalError: "InternalServerError",
		Operations: map[string]wire.Operation{
			// machine_*.go
			"CreateStateMachine":             decoded(s.createStateMachine),
			"UpdateStateMachine":             decoded(s.updateStateMachine),
			"DescribeStateMachine":           decoded(s.describeStateMachine),
			"ListStateMachines":              decoded(s.listStateMachines),
			"DeleteStateMachine":             decoded(s.deleteStateMachine),
			"ValidateStateMachineDefinition": decoded(s.validateDefinition),

			// execution_*.go
			"StartExecution":                   s.startExecution,
			"DescribeExecution":                decoded(s.describeExecution),
			"DescribeStateMachineForExecution": decoded(s.describeForExecution),
			"ListExecutions":                   decoded(s.listExecutions),
			"StopExecution":                    decoded(s.stopExecution),
			"RedriveExecution":                 decoded(s.redriveExecution),
			"GetExecutionHistory":              decoded(s.executionHistory),

			// activity.go
			"CreateActivity":   decoded(s.createActivity),
			"DescribeActivity": decoded(s.describeActivity),
			"ListActivities":   decoded(s.listActivities),
			"DeleteActivity":   decoded(s.deleteActivity),

			// poll.go, task.go. These and StartExecution read their few members without decoding
			// the documents.
			"GetActivityTask":   s.getActivityTask,
			"SendTaskSuccess":   s.sendTaskSuccess,
			"SendTaskFailure":   s.sendTaskFailure,
			"SendTaskHeartbeat": s.sendTaskHeartbeat,
		},
	}
}
