package stepfunctions

import (
	"ratchet/embedded/internal/wire"

	"ratchet/embedded/internal/stepfunctions/requests"
)

// Wire returns the operations for wire.NewHandler.
func (s *Service) Wire() wire.Service {
	return wire.Service{
		Target:        "AWSStepFunctions",
		MessageKey:    "message",
		InternalError: "InternalServerError",
		Operations: map[string]wire.Operation{
			// machine_*.go
			"CreateStateMachine":             requests.Decoded(s.createStateMachine),
			"UpdateStateMachine":             requests.Decoded(s.updateStateMachine),
			"DescribeStateMachine":           requests.Decoded(s.describeStateMachine),
			"ListStateMachines":              requests.Decoded(s.listStateMachines),
			"DeleteStateMachine":             requests.Decoded(s.deleteStateMachine),
			"ValidateStateMachineDefinition": requests.Decoded(s.validateDefinition),

			// machine_version.go, machine_alias.go
			"PublishStateMachineVersion": requests.Decoded(s.publishVersion),
			"DeleteStateMachineVersion":  requests.Decoded(s.deleteVersion),
			"ListStateMachineVersions":   requests.Decoded(s.listVersions),
			"CreateStateMachineAlias":    requests.Decoded(s.createAlias),
			"DescribeStateMachineAlias":  requests.Decoded(s.describeAlias),
			"UpdateStateMachineAlias":    requests.Decoded(s.updateAlias),
			"DeleteStateMachineAlias":    requests.Decoded(s.deleteAlias),
			"ListStateMachineAliases":    requests.Decoded(s.listAliases),

			// execution_*.go
			"StartExecution":                   s.startExecution,
			"StartSyncExecution":               requests.Decoded(s.startSync), // express.go
			"DescribeExecution":                requests.Decoded(s.describeExecution),
			"DescribeStateMachineForExecution": requests.Decoded(s.describeForExecution),
			"ListExecutions":                   requests.Decoded(s.listExecutions),
			"StopExecution":                    requests.Decoded(s.stopExecution),
			"RedriveExecution":                 requests.Decoded(s.redriveExecution),
			"GetExecutionHistory":              requests.Decoded(s.executionHistory),

			// maprun_api.go
			"DescribeMapRun": requests.Decoded(s.describeMapRun),
			"ListMapRuns":    requests.Decoded(s.listMapRuns),
			"UpdateMapRun":   requests.Decoded(s.updateMapRun),

			// activity.go
			"CreateActivity":   requests.Decoded(s.createActivity),
			"DescribeActivity": requests.Decoded(s.describeActivity),
			"ListActivities":   requests.Decoded(s.listActivities),
			"DeleteActivity":   requests.Decoded(s.deleteActivity),

			// teststate.go
			"TestState": requests.Decoded(s.testState),

			// tags.go
			"TagResource":         requests.Decoded(s.tagResource),
			"UntagResource":       requests.Decoded(s.untagResource),
			"ListTagsForResource": requests.Decoded(s.listTags),

			// poll.go, task.go. These and StartExecution read their few members without decoding
			// the documents.
			"GetActivityTask":   s.getActivityTask,
			"SendTaskSuccess":   s.sendTaskSuccess,
			"SendTaskFailure":   s.sendTaskFailure,
			"SendTaskHeartbeat": s.sendTaskHeartbeat,
		},
	}
}
