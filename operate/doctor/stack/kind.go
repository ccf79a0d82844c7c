package stack

import (
	"maps"
	"slices"
	"strings"
)

// Account is where something is deployed, and the parameters of the templates that are known.
type Account struct {
	Partition, Region, ID string
	// Parameters are parameters of the templates, by name.
	Parameters map[string]string
}

// pseudo are the parameters that CloudFormation itself has.
func (a Account) pseudo() map[string]string {
	return map[string]string{"AWS::Partition": a.Partition, "AWS::Region": a.Region, "AWS::AccountId": a.ID, "AWS::URLSuffix": a.suffix()}
}

// suffix is what the addresses of the partition's services end with.
func (a Account) suffix() string {
	if a.Partition == "aws-cn" {
		return "amazonaws.com.cn"
	}

	return "amazonaws.com"
}

func (a Account) arn(service, resource string) string {
	return strings.Join([]string{"arn", a.Partition, service, a.Region, a.ID, resource}, ":")
}

// global is the ARN of a resource of a service without Regions.
func (a Account) global(service, resource string) string {
	return strings.Join([]string{"arn", a.Partition, service, "", a.ID, resource}, ":")
}

// kind is a kind of resources that is compared.
type kind struct {
	// word is what a finding calls it.
	word string
	// named is the property with its name.
	named string
	// arn returns the ARN of the name, ref what !Ref returns, and identifier what the Cloud Control API finds it by.
	arn, ref, identifier func(a Account, name string) string
	// also are properties that it must have beside those of the template: what a template leaves to a default of AWS.
	also map[string]any
	// unread are properties that the Cloud Control API does not answer, and those that mean nothing.
	unread []string
	// readAs is the kind under which the Cloud Control API has it, if another one.
	readAs string
	// listed: the identifier has a part that no template decides, so it is found in the list of all of the type.
	listed bool
	// inner are properties that name another resource of the template, with its type: its properties are compared in
	// their place.
	inner map[string]string
}

func itsName(_ Account, name string) string { return name }

func policyARN(a Account, name string) string { return a.global("iam", "policy/"+name) }
func roleARN(a Account, name string) string   { return a.global("iam", "role/"+name) }
func topicARN(a Account, name string) string  { return a.arn("sns", name) }
func ruleARN(a Account, name string) string   { return a.arn("events", "rule/"+name) }
func queueARN(a Account, name string) string  { return a.arn("sqs", name) }

func queueURL(a Account, name string) string {
	return "https://sqs." + a.Region + "." + a.suffix() + "/" + a.ID + "/" + name
}

func logsARN(a Account, name string) string     { return a.arn("logs", "log-group:"+name) }
func functionARN(a Account, name string) string { return a.arn("lambda", "function:"+name) }

// kinds are the kinds that are compared, by their type of CloudFormation. Identifiers are the primary identifiers of the
// types' schemas.
var kinds = map[string]kind{
	"AWS::IAM::ManagedPolicy": {word: "policy", named: "ManagedPolicyName", arn: policyARN, ref: policyARN, identifier: policyARN, unread: []string{"Description"}},
	"AWS::IAM::Role":          {word: "role", named: "RoleName", arn: roleARN, ref: itsName, identifier: itsName},
	// A topic without a subscription reaches no one.
	"AWS::SNS::Topic": {word: "topic", named: "TopicName", arn: topicARN, ref: topicARN, identifier: topicARN, also: map[string]any{"Subscription": open{}}},
	// The policy of a topic has no name, and no answer under its own type.
	"AWS::SNS::TopicPolicy": {word: "policy of topic", identifier: itsName, unread: []string{"Topics"}, readAs: "AWS::SNS::TopicInlinePolicy"},
	"AWS::Events::Rule":     {word: "rule", named: "Name", arn: ruleARN, ref: itsName, identifier: ruleARN, also: map[string]any{"State": "ENABLED"}},
	"AWS::SQS::Queue":       {word: "settings of queue", named: "QueueName", arn: queueARN, ref: queueURL, identifier: queueURL},
	"AWS::Logs::LogGroup":   {word: "log group", named: "LogGroupName", arn: logsARN, ref: itsName, identifier: itsName},
	"AWS::Lambda::Function": {word: "function", named: "FunctionName", arn: functionARN, ref: itsName, identifier: itsName, unread: []string{"Code"}},
	"AWS::ECS::Service": {
		word: "service", named: "ServiceName", arn: itsName, ref: itsName, identifier: itsName, listed: true,
		unread: []string{"Cluster"}, inner: map[string]string{"TaskDefinition": "AWS::ECS::TaskDefinition"},
	},
}

// elsewhere are the kinds that this package does not compare, with the reason.
var elsewhere = map[string]string{
	"AWS::DynamoDB::Table":                        "the doctor describes each table",
	"AWS::Serverless::StateMachine":               "the doctor describes the state machine",
	"AWS::StepFunctions::Activity":                "the doctor lists the activities",
	"AWS::CloudWatch::Alarm":                      "the doctor describes each alarm",
	"AWS::KMS::Key":                               "AWS makes its id; that the topic has a key is compared",
	"AWS::SNS::Subscription":                      "AWS makes its id; that the topic has one is compared",
	"AWS::Lambda::EventSourceMapping":             "AWS makes its id; the alarm stream-on-lambda fires if none reads",
	"AWS::ApplicationAutoScaling::ScalableTarget": "AWS makes its id",
	"AWS::ApplicationAutoScaling::ScalingPolicy":  "AWS makes its id",
	"AWS::Budgets::Budget":                        "AWS makes its id",
	"AWS::EC2::SecurityGroup":                     "AWS makes its id",
	"AWS::EC2::SecurityGroupIngress":              "AWS makes its id",
	"AWS::EC2::VPCEndpoint":                       "AWS makes its id",
	"AWS::ElasticLoadBalancingV2::Listener":       "AWS makes its id",
	"AWS::ElasticLoadBalancingV2::LoadBalancer":   "AWS makes its name",
	"AWS::ElasticLoadBalancingV2::TargetGroup":    "AWS makes its name",
}

// Kinds returns the types of resources that are compared, and those that are not, with the reason.
func Kinds() (compared []string, others map[string]string) {
	for name, k := range kinds {
		compared = append(compared, name)
		compared = slices.AppendSeq(compared, maps.Values(k.inner))
	}

	return compared, elsewhere
}
