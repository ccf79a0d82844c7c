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

			// machine_version.go, machine_alias.go
			"PublishStateMachineVersion": decoded(s.publishVersion),
			"DeleteStateMachineVersion":  decoded(s.deleteVersion),
			"ListStateMachineVersions":   decoded(s.listVersions),
			"CreateStateMachineAlias":    decoded(s.createAlias),
			"DescribeStateMachineAlias":  decoded(s.describeAlias),
			"UpdateStateMachineAlias":    decoded(s.updateAlias),
			"DeleteStateMachineAlias":    decoded(s.deleteAlias),
			"ListStateMachineAliases":    decoded(s.listAliases),

			// execution_*.go
			"StartExecution":                   s.startExecution,
			"StartSyncExecution":               decoded(s.startSync), // express.go
			"DescribeExecution":                decoded(s.describeExecution),
			"DescribeStateMachineForExecution": decoded(s.describeForExecution),
			"ListExecutions":                   decoded(s.listExecutions),
			"StopExecution":                    decoded(s.stopExecution),
			"RedriveExecution":                 decoded(s.redriveExecution),
			"GetExecutionHistory":              decoded(s.executionHistory),

			// maprun_api.go
			"DescribeMapRun": decoded(s.describeMapRun),
			"ListMapRuns":    decoded(s.listMapRuns),
			"UpdateMapRun":   decoded(s.updateMapRun),

			// activity.go
			"CreateActivity":   decoded(s.createActivity),
			"DescribeActivity": decoded(s.describeActivity),
			"ListActivities":   decoded(s.listActivities),
			"DeleteActivity":   decoded(s.deleteActivity),

			// teststate.go
			"TestState": decoded(s.testState),

			// tags.go
			"TagResource":         decoded(s.tagResource),
			"UntagResource":       decoded(s.untagResource),
			"ListTagsForResource": decoded(s.listTags),

			// poll.go, task.go. These and StartExecution read their few members without decoding
			// the documents.
			"GetActivityTask":   s.getActivityTask,
			"SendTaskSuccess":   s.sendTaskSuccess,
			"SendTaskFailure":   s.sendTaskFailure,
			"SendTaskHeartbeat": s.sendTaskHeartbeat,
		},
	}
}
