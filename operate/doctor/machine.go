package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// Machine is a state machine that the program needs.
type Machine struct {
	Name string
	// Activities are the names of the activities that its workers poll.
	Activities []string
	// Definition returns the definition that the program would create, with the ARNs of the
	// activities by their names.
	Definition func(arns map[string]string) string
	// RoleARN is the role that it should have. Empty: any.
	RoleARN string
	// AWS says that it runs on AWS, where it needs a role that exists.
	AWS bool
}

func (m *Machine) subject() string { return "state machine " + m.Name }

// noRole is in the ARN of a role that was never configured.
const noRole = ":iam::000000000000:"

func (e *examination) checkMachine(ctx context.Context) []Check {
	m := e.cfg.Machine
	if m == nil {
		return nil
	}

	arn, err := e.findMachine(ctx)
	switch {
	case err != nil:
		return []Check{NewUnchecked(m.subject(), "states:ListStateMachines: "+brief(err), "allow states:ListStateMachines")}
	case arn == "":
		// The activities are checked all the same: their absence is a finding of its own.
		return append([]Check{NewFailure(m.subject(), "does not exist", runInit)}, e.checkActivities(ctx)...)
	}

	checks := e.checkDeployed(ctx, arn)
	checks = append(checks, e.checkAnswers(ctx, arn)...)

	if len(checks) == 0 {
		checks = []Check{NewOK(m.subject(), "STANDARD, with the definition of this program")}
	}

	return append(checks, e.checkActivities(ctx)...)
}

// findMachine returns the ARN of the state machine, "" if there is none.
func (e *examination) findMachine(ctx context.Context) (string, error) {
	pages := sfn.NewListStateMachinesPaginator(e.sfn, &sfn.ListStateMachinesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}

		for _, found := range page.StateMachines {
			// List calls have no filter by name, and the ARN, which has the account's id, may be
			// unknown.
			if aws.ToString(found.Name) == e.cfg.Machine.Name {
				return aws.ToString(found.StateMachineArn), nil
			}
		}
	}

	return "", nil
}

// checkDeployed compares the deployed state machine with the program's definition and role.
func (e *examination) checkDeployed(ctx context.Context, arn string) (checks []Check) {
	m := e.cfg.Machine

	is, err := e.sfn.DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &arn})
	if err != nil {
		return []Check{NewUnchecked(m.subject(), "states:DescribeStateMachine: "+brief(err), "allow states:DescribeStateMachine on "+arn)}
	}

	if is.Type != types.StateMachineTypeStandard {
		// The type of a state machine cannot be changed, so the definition does not matter.
		return []Check{NewFailure(m.subject(), fmt.Sprintf("its type is %s: only STANDARD has executions that wait for days", is.Type),
			fmt.Sprintf("`aws stepfunctions delete-state-machine --state-machine-arn %s`, then `ratchet init`", arn))}
	}

	if difference := m.Differs(arn, aws.ToString(is.Definition)); difference != "" {
		// Executions keep the revision that they started with, so an update is safe while they run.
		checks = append(checks, NewFailure(m.subject(), "its definition is not that of this program: "+difference,
			"`ratchet init` of the newer program updates it; executions that run keep theirs"))
	}

	role := aws.ToString(is.RoleArn)
	e.machineRole = role

	switch {
	case m.AWS && strings.Contains(role, noRole):
		checks = append(checks, NewFailure(m.subject(), "its role is "+role+": that account does not exist", "set role-arn to a role that Step Functions may assume, then `ratchet init`"))
	case m.RoleARN != "" && m.RoleARN != role:
		checks = append(checks, NewFailure(m.subject(), fmt.Sprintf("its role is %s, not the %s of the setting role-arn", role, m.RoleARN), "`ratchet init` sets it, or change role-arn"))
	}

	return checks
}

// Differs returns where the definition of the deployed state machine with the ARN differs from the
// program's definition, "" if they are equal. Formatting and the order of members mean nothing.
func (m *Machine) Differs(arn, deployed string) string {
	// The program would use its activities of the same account and Region, which the ARN names.
	arns := map[string]string{}
	for _, name := range m.Activities {
		arns[name] = strings.Replace(strings.TrimSuffix(arn, m.Name), ":stateMachine:", ":activity:", 1) + name
	}

	return difference(deployed, m.Definition(arns))
}

// checkAnswers tries, with a token and an execution that do not exist, whether tasks may be
// answered, and whether executions may be read and redriven.
func (e *examination) checkAnswers(ctx context.Context, arn string) (checks []Check) {
	token := aws.String(probeKey)
	execution := strings.Replace(arn, ":stateMachine:", ":execution:", 1) + ":" + probeKey

	calls := map[string]func() error{
		"SendTaskSuccess": func() error {
			_, err := e.sfn.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: token, Output: aws.String("{}")})
			return err
		},
		"SendTaskFailure": func() error {
			_, err := e.sfn.SendTaskFailure(ctx, &sfn.SendTaskFailureInput{TaskToken: token})
			return err
		},
		"SendTaskHeartbeat": func() error {
			_, err := e.sfn.SendTaskHeartbeat(ctx, &sfn.SendTaskHeartbeatInput{TaskToken: token})
			return err
		},
		"DescribeExecution": func() error {
			_, err := e.sfn.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &execution})
			return err
		},
		"GetExecutionHistory": func() error {
			_, err := e.sfn.GetExecutionHistory(ctx, &sfn.GetExecutionHistoryInput{ExecutionArn: &execution, MaxResults: 1})
			return err
		},
		"RedriveExecution": func() error {
			_, err := e.sfn.RedriveExecution(ctx, &sfn.RedriveExecutionInput{ExecutionArn: &execution})
			return err
		},
		"ListExecutions": func() error {
			_, err := e.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &arn, MaxResults: 1})
			return err
		},
	}

	var denied []Permission
	// Only needed permissions are tried; the map holds more calls than some programs need.
	for _, p := range e.needed("states", func(string) bool { return true }) {
		call := calls[p.operation()]
		if call == nil {
			continue // another check calls it, or none can
		}

		err := call()
		switch {
		case isDenied(err):
			denied = append(denied, p)
		// These refusals come after the check of the permission: the call was allowed.
		case err != nil && !hasCode(err, "InvalidToken", "TaskDoesNotExist", "TaskTimedOut", "ExecutionDoesNotExist", "StateMachineTypeNotSupported"):
			checks = append(checks, NewUnchecked(e.cfg.Machine.subject(), p.Action+": "+brief(err), "repeat the command"))
		}
	}

	return append(checks, e.denials(e.cfg.Machine.subject(), denied, arn+" and its executions")...)
}

// checkActivities has a check for each activity that is missing.
// A list needs one permission and few calls; DescribeActivity would need one permission and
// one call for every activity.
func (e *examination) checkActivities(ctx context.Context) (checks []Check) {
	var found []string

	pages := sfn.NewListActivitiesPaginator(e.sfn, &sfn.ListActivitiesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return []Check{NewUnchecked("activities", "states:ListActivities: "+brief(err), "allow states:ListActivities")}
		}

		for _, a := range page.Activities {
			found = append(found, aws.ToString(a.Name))
		}
	}

	for _, name := range e.cfg.Machine.Activities {
		if !slices.Contains(found, name) {
			checks = append(checks, NewFailure("activity "+name, "does not exist: executions that come to it fail", "`ratchet init` or the next start of a worker creates it"))
		}
	}

	if len(checks) == 0 {
		checks = []Check{NewOK("activities", strings.Join(e.cfg.Machine.Activities, ", "))}
	}

	return checks
}
