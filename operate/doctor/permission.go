package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
)

// Permission is an IAM action on a resource that the program needs.
type Permission struct {
	// Action, as "dynamodb:PutItem".
	Action string
	// Resource is the end of the resource's ARN, behind the account, such as
	// "table/ratchet-orders". It is "*" if the action has no resources.
	Resource string
}

func (p Permission) String() string {
	if p.Resource == anything {
		return p.Action
	}

	return p.Action + " on " + p.Resource
}

// anything is the resource of actions that have no resources.
const anything = "*"

// in returns the ARN of the resource in the account and the Region.
func (p Permission) in(account arn.ARN, region string) string {
	// IAM simulates actions without resources only on "*".
	if p.Resource == anything {
		return anything
	}

	service, _, _ := strings.Cut(p.Action, ":")

	return arn.ARN{Partition: account.Partition, Service: service, Region: region, AccountID: account.AccountID, Resource: p.Resource}.String()
}

// tried are the actions that can be tried without an effect. Other actions are only simulated.
var tried = []string{
	"dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem",
	"dynamodb:Query", "dynamodb:Scan", "dynamodb:UpdateItem",
	"dynamodb:DescribeTable", "dynamodb:DescribeStream", "dynamodb:GetShardIterator", "dynamodb:GetRecords",
	"dynamodb:ListTables", "dynamodb:ListStreams", "dynamodb:DescribeTimeToLive", "dynamodb:DescribeContinuousBackups",
	"states:ListStateMachines", "states:ListActivities", "states:DescribeStateMachine", "states:ListExecutions",
	"states:SendTaskSuccess", "states:SendTaskFailure", "states:SendTaskHeartbeat",
	"states:DescribeExecution", "states:GetExecutionHistory", "states:RedriveExecution",
	"sqs:ListQueues", "sqs:GetQueueUrl", "sqs:GetQueueAttributes", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility",
	"cloudwatch:DescribeAlarms", "cloudformation:GetResource", "cloudformation:ListResources", "logs:DescribeIndexPolicies", "logs:DescribeLogGroups", "logs:DescribeResourcePolicies",
	"logs:GetDataProtectionPolicy", "logs:ListTagsForResource",
}

// canTry reports whether the permission can be tried without an effect. A pattern of queues names no
// queue on which the permission could be tried.
func canTry(p Permission) bool {
	return slices.Contains(tried, p.Action) && !(strings.HasPrefix(p.Action, "sqs:") && len(p.Resource) > 1 && strings.Contains(p.Resource, "*"))
}

// operation is the action without its service.
func (p Permission) operation() string {
	_, operation, _ := strings.Cut(p.Action, ":")

	return operation
}

// needed returns the permissions of a service on the resources that match, except
// permissions that the simulation allows, for a check that tries them. Permissions that the
// simulation denies are tried all the same: it knows no policies of resources and no values of
// conditions.
func (e *examination) needed(service string, match func(resource string) bool) (open []Permission) {
	for _, p := range e.cfg.Permissions {
		if strings.HasPrefix(p.Action, service+":") && match(p.Resource) && e.simulated[p] != allowed {
			open = append(open, p)
		}
	}

	// The tables are checked at the same time.
	e.mu.Lock()
	defer e.mu.Unlock()

	for _, p := range open {
		e.probed[p] = canTry(p)
	}

	return open
}

// denials returns a failure for each reason why permissions are missing. Permissions that were
// tried but not simulated have no reason.
func (e *examination) denials(subject string, denied []Permission, resource string) (checks []Check) {
	byReason := map[decision][]string{}
	for _, p := range denied {
		reason := e.simulated[p]
		byReason[reason] = append(byReason[reason], p.Action)
	}

	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		actions := strings.Join(byReason[reason], ", ")

		found := "not allowed: " + actions
		if reason != unknown {
			found += " (" + string(reason) + ")"
		}

		checks = append(checks, NewFailure(subject, found, fmt.Sprintf(reason.remedy(), actions, resource)))
	}

	return checks
}

// checkPermissions reports the permissions that no other check has tried: the simulation
// denies them, or they could neither be simulated nor tried.
func (e *examination) checkPermissions() (checks []Check) {
	const subject = "permissions"

	if e.caller == nil || len(e.cfg.Permissions) == 0 {
		return nil // an endpoint, or the engine, which has none
	}

	denied, open, underCondition := map[string][]Permission{}, []string{}, []string{}

	for _, p := range e.cfg.Permissions {
		switch decided := e.simulated[p]; {
		// The simulation allows it, or another check has tried it and reported the answer.
		case decided == allowed || e.probed[p]:
		case decided == unknown && !canTry(p):
			open = append(open, p.String())
		case decided == conditional && !canTry(p):
			underCondition = append(underCondition, p.String())
		case decided == unknown, decided == conditional: // the call of another check
		default:
			denied[p.Resource] = append(denied[p.Resource], p)
		}
	}

	for _, resource := range slices.Sorted(maps.Keys(denied)) {
		checks = append(checks, e.denials(subject, denied[resource], denied[resource][0].in(*e.caller, e.cfg.AWS.Region))...)
	}

	// Not a failure: only a real call has the values of the condition.
	if len(underCondition) > 0 {
		actions := strings.Join(shorten(underCondition), ", ")
		checks = append(checks, NewUnchecked(subject, fmt.Sprintf("not tried, because a call would have an effect: %s; %s", actions, conditional),
			"compare the conditions of the statements that allow them with where this program runs"))
	}

	switch {
	case len(open) > 0:
		checks = append(checks, NewUnchecked(subject, fmt.Sprintf("not tried, because a call would have an effect: %s; %s",
			strings.Join(shorten(open), ", "), e.notSimulated), "allow iam:SimulatePrincipalPolicy on this identity itself"))
	case e.notSimulated != "":
		checks = append(checks, NewOK(subject, e.notSimulated+"; all were tried"))
	case len(checks) == 0:
		checks = append(checks, NewOK(subject, fmt.Sprintf("%d are simulated for %s", len(e.simulated), e.principal)))
	}

	return checks
}

// shorten joins the resources of each action, such as "states:GetActivityTask on 14 resources".
func shorten(permissions []string) (short []string) {
	resources := map[string][]string{}
	for _, p := range permissions {
		action, resource, _ := strings.Cut(p, " on ")
		resources[action] = append(resources[action], resource)
	}

	for _, action := range slices.Sorted(maps.Keys(resources)) {
		text := cmp.Or(resources[action][0], anything)
		if n := len(resources[action]); n > 1 {
			text = fmt.Sprintf("%d resources", n)
		}

		short = append(short, action+" on "+text)
	}

	return short
}
