package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// decision is the simulation's answer for a permission: allowed, or why it is not allowed.
type decision string

// The decisions.
const (
	unknown       decision = ""
	allowed       decision = "allowed"
	implicitDeny  decision = "no policy allows it"
	explicitDeny  decision = "a policy denies it"
	outOfBoundary decision = "the permissions boundary does not allow it"
	outOfService  decision = "a service control policy of the organization does not allow it"
	conditional   decision = "denied, or allowed only under a condition of a policy whose values a simulation does not have"
)

// remedy returns the format of the remedy, with places for the actions and the resource.
func (d decision) remedy() string {
	switch d {
	case explicitDeny:
		return "remove %s on %s from the statement with Effect Deny of a policy of this identity"
	case outOfBoundary:
		return "allow %s on %s in the permissions boundary of this identity, too"
	case outOfService:
		return "have %s on %s allowed by the service control policies of the account"
	case conditional:
		return "compare the conditions of the statements that allow %s on %s with where this program runs"
	case unknown, allowed, implicitDeny:
	}

	return "allow %s on %s in a policy of this identity"
}

const (
	// simulatedAtOnce is how many resources a call names.
	simulatedAtOnce = 25
	// simulationAttempts is how often a call is sent: IAM throttles a few calls a second.
	simulationAttempts = 6
)

// simulate asks IAM which of the permissions the policies of the caller allow. Permissions without
// an answer stay unknown, with the reason in notSimulated.
func (e *examination) simulate(ctx context.Context) {
	e.simulated = map[Permission]decision{}

	// An endpoint that is not AWS, or the engine, has no IAM.
	if e.caller == nil || len(e.cfg.Permissions) == 0 {
		return
	}

	client := iam.NewFromConfig(e.cfg.AWS, func(o *iam.Options) { o.RetryMaxAttempts = simulationAttempts })

	err := e.findPrincipal(ctx, client)
	if err == nil {
		err = e.askForDecisions(ctx, client)
	}

	if err != nil {
		e.notSimulated = "iam:SimulatePrincipalPolicy: " + brief(err)
	}
}

// askForDecisions sends a call for each action and the resources that it is needed on.
func (e *examination) askForDecisions(ctx context.Context, client *iam.Client) error {
	byAction := map[string]map[string]Permission{} // and by ARN

	for _, p := range e.cfg.Permissions {
		if byAction[p.Action] == nil {
			byAction[p.Action] = map[string]Permission{}
		}
		// Answers name ARNs, so the permission is found again by its ARN.
		byAction[p.Action][p.in(*e.caller, e.cfg.AWS.Region)] = p
	}

	for _, action := range slices.Sorted(maps.Keys(byAction)) {
		on := byAction[action]

		for arns := range slices.Chunk(slices.Sorted(maps.Keys(on)), simulatedAtOnce) {
			pages := iam.NewSimulatePrincipalPolicyPaginator(client, &iam.SimulatePrincipalPolicyInput{
				PolicySourceArn: &e.principal,
				ActionNames:     []string{action},
				ResourceArns:    arns,
			})

			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return err
				}

				for _, result := range page.EvaluationResults {
					e.noteDecisions(result, on)
				}
			}
		}
	}

	return nil
}

// noteDecisions notes the decision for each resource. The decision of the result itself is the worst of
// these, so it counts only if there is a single resource
// (https://docs.aws.amazon.com/IAM/latest/APIReference/API_EvaluationResult.html).
func (e *examination) noteDecisions(result types.EvaluationResult, on map[string]Permission) {
	outside := result.OrganizationsDecisionDetail != nil && !result.OrganizationsDecisionDetail.AllowedByOrganizations

	for _, r := range result.ResourceSpecificResults {
		if p, asked := on[aws.ToString(r.EvalResourceName)]; asked {
			e.simulated[p] = decide(r.EvalResourceDecision, outside, r.PermissionsBoundaryDecisionDetail, r.MissingContextValues)
		}
	}

	if p, asked := on[aws.ToString(result.EvalResourceName)]; asked && len(on) == 1 && len(result.ResourceSpecificResults) == 0 {
		e.simulated[p] = decide(result.EvalDecision, outside, result.PermissionsBoundaryDecisionDetail, result.MissingContextValues)
	}
}

func decide(d types.PolicyEvaluationDecisionType, outside bool, boundary *types.PermissionsBoundaryDecisionDetail, missing []string) decision {
	switch {
	case d == types.PolicyEvaluationDecisionTypeAllowed:
		return allowed
	// A denial with values missing may be a Deny under a condition that does not hold here.
	case d == types.PolicyEvaluationDecisionTypeExplicitDeny && len(missing) == 0:
		return explicitDeny
	case len(missing) > 0:
		return conditional
	// This is named before the boundary: while the organization denies, a change of the boundary
	// does not help.
	case outside:
		return outOfService
	case boundary != nil && !boundary.AllowedByPermissionsBoundary:
		return outOfBoundary
	}

	return implicitDeny
}

// findPrincipal sets the identity whose policies are simulated: the caller, or the role that it has
// assumed. The ARN of a session lacks the path of its role, so a role that is not found without one is
// asked for by its name.
func (e *examination) findPrincipal(ctx context.Context, client *iam.Client) error {
	kind, name, _ := strings.Cut(e.caller.Resource, "/")

	switch {
	case e.caller.Service == "iam" && kind == "user":
		e.principal = e.caller.String()
		return nil
	case e.caller.Service != "sts" || kind != "assumed-role":
		return fmt.Errorf("%s has no policies that IAM simulates", e.caller)
	}

	// The name of the session follows the name of the role.
	name, _, _ = strings.Cut(name, "/")
	e.principal = arn.ARN{Partition: e.caller.Partition, Service: "iam", AccountID: e.caller.AccountID, Resource: "role/" + name}.String()

	// A call for one action shows whether the role is there.
	_, err := client.SimulatePrincipalPolicy(ctx, &iam.SimulatePrincipalPolicyInput{PolicySourceArn: &e.principal, ActionNames: []string{e.cfg.Permissions[0].Action}})

	var missing *types.NoSuchEntityException
	if !errors.As(err, &missing) {
		return err
	}

	role, err := client.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
	if err != nil {
		return fmt.Errorf("iam:GetRole, for the path of %s: %w", e.principal, err)
	}
	e.principal = aws.ToString(role.Role.Arn)

	return nil
}
