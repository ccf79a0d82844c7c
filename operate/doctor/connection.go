package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// The names of the services.
const (
	nameDynamoDB = "DynamoDB"
	nameStreams  = "DynamoDB Streams"
	nameSFN      = "Step Functions"
	nameSQS      = "SQS"
)

const (
	// connectTimeout bounds the first call of a service, and the search for credentials.
	connectTimeout = 15 * time.Second
	// maxSkew is how far clocks may differ before AWS refuses signatures
	// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html).
	maxSkew = 5 * time.Minute
	// smallSkew is more than the precision of the Date header and the travel time of an answer can
	// explain.
	smallSkew = 5 * time.Second
)

const setCredentials = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role" //nolint:gosec // G101: names of variables

// checkCredentials looks for credentials and, on AWS, asks for their identity.
func (e *examination) checkCredentials(ctx context.Context) (checks []Check, usable bool) {
	const subject = "credentials"

	// The embedded engine in this process checks no signatures.
	if e.cfg.InProcess {
		return nil, true
	}

	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()

	if e.cfg.AWS.Credentials == nil {
		return []Check{NewFailure(subject, "there are none", setCredentials)}, false
	}

	found, err := e.cfg.AWS.Credentials.Retrieve(ctx)
	if err != nil {
		return []Check{NewFailure(subject, "there are none: "+brief(err), setCredentials)}, false
	}

	// Another endpoint may have no STS, and its account is not one of AWS.
	if e.sts.Options().BaseEndpoint != nil || e.db.Options().BaseEndpoint != nil {
		return []Check{NewOK(subject, "from "+found.Source)}, true
	}

	who, err := e.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})

	switch {
	case isRejected(err):
		return []Check{NewFailure(subject, "AWS rejects those from "+found.Source+": "+brief(err), setCredentials+"; expired ones have to be renewed")}, false
	case err != nil:
		return []Check{NewUnchecked(subject, "sts:GetCallerIdentity: "+brief(err), "no permission is needed for it: check the network to STS")}, true
	}
	e.noteTime(who.ResultMetadata, nil)

	if caller, err := arn.Parse(aws.ToString(who.Arn)); err == nil {
		e.caller = &caller
	}

	return []Check{NewOK(subject, fmt.Sprintf("%s (from %s)", aws.ToString(who.Arn), found.Source))}, true
}

// service is a service that the program calls.
type service struct {
	name     string
	endpoint *string // nil: AWS
	// ask makes a call that changes nothing.
	ask func(context.Context) (middleware.Metadata, error)
}

func (e *examination) services() []service {
	// The answers do not matter: a missing permission also proves that the service answers.
	all := []service{
		{nameDynamoDB, e.db.Options().BaseEndpoint, func(ctx context.Context) (middleware.Metadata, error) {
			out, err := e.db.ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)})
			return metadataOf(out, func() middleware.Metadata { return out.ResultMetadata }), err
		}},
		{nameStreams, e.streams.Options().BaseEndpoint, func(ctx context.Context) (middleware.Metadata, error) {
			out, err := e.streams.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{Limit: aws.Int32(1)})
			return metadataOf(out, func() middleware.Metadata { return out.ResultMetadata }), err
		}},
	}

	if e.cfg.Machine != nil {
		all = append(all, service{nameSFN, e.sfn.Options().BaseEndpoint, func(ctx context.Context) (middleware.Metadata, error) {
			out, err := e.sfn.ListStateMachines(ctx, &sfn.ListStateMachinesInput{MaxResults: 1})
			return metadataOf(out, func() middleware.Metadata { return out.ResultMetadata }), err
		}})
	}

	if e.cfg.Queue != nil {
		all = append(all, service{nameSQS, e.sqs.Options().BaseEndpoint, func(ctx context.Context) (middleware.Metadata, error) {
			out, err := e.sqs.ListQueues(ctx, &sqs.ListQueuesInput{MaxResults: aws.Int32(1)})
			return metadataOf(out, func() middleware.Metadata { return out.ResultMetadata }), err
		}})
	}

	return all
}

// metadataOf returns the metadata of an answer, none if there is no answer.
func metadataOf[T any](out *T, metadata func() middleware.Metadata) middleware.Metadata {
	// A call that fails without an answer returns no output.
	if out == nil {
		return middleware.Metadata{}
	}

	return metadata()
}

// at says where the service is, without the password and the query of a URL.
func (s service) at(region string) string {
	if s.endpoint == nil {
		return "AWS, region " + region
	}

	if u, err := url.Parse(*s.endpoint); err == nil {
		// A query may hold a token, and findings are shown and pasted.
		u.RawQuery, u.Fragment = "", ""
		return u.Redacted()
	}

	return *s.endpoint
}

// silent holds the services that do not answer.
type silent map[string]bool

// among returns the silent services among the named ones, as a text.
func (s silent) among(services []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(services), func(name string) bool { return !s[name] }), " and ")
}

// checkEndpoints asks each service once. Services at one endpoint that does not answer are one
// failure.
func (e *examination) checkEndpoints(ctx context.Context) (checks []Check, unreached silent) {
	unreached = silent{}
	reasons := map[string]string{} // by endpoint
	places := map[bool][]string{}

	for _, s := range e.services() {
		place := s.at(e.cfg.AWS.Region)
		if e.cfg.InProcess {
			place = "the embedded engine in this process"
		}
		places[s.endpoint == nil] = append(places[s.endpoint == nil], s.name)

		// Services of one endpoint fail together. The first failure says what to do; the others
		// only refer to it.
		if reason, known := reasons[place]; known && s.endpoint != nil {
			unreached[s.name] = true
			checks = append(checks, NewUnchecked(s.name, reason, "fix its endpoint first"))

			continue
		}

		switch err := e.ask(ctx, s); {
		// A denied call has been answered: the service is there, and accepts the credentials.
		case err == nil, isDenied(err):
			checks = append(checks, NewOK(s.name, place))
		case isRejected(err):
			unreached[s.name], reasons[place] = true, "the credentials are rejected there"
			checks = append(checks, NewFailure("credentials", s.name+" rejects them: "+brief(err), setCredentials))
		default:
			unreached[s.name], reasons[place] = true, place+" does not answer"
			checks = append(checks, NewFailure(s.name, place+" does not answer: "+brief(err), endpointAction(s, e.cfg.AWS.Region)))
		}
	}

	// Orders in AWS with executions at a local endpoint, or the reverse, are nearly always a
	// forgotten variable.
	if len(places[true]) > 0 && len(places[false]) > 0 && !e.cfg.InProcess {
		checks = append(checks, NewWarning("endpoints",
			fmt.Sprintf("%s: AWS; %s: other endpoints", strings.Join(places[true], ", "), strings.Join(places[false], ", ")),
			"set the endpoint of all services, or of none: endpoint-url, AWS_ENDPOINT_URL, or AWS_ENDPOINT_URL_DYNAMODB, _DYNAMODB_STREAMS, _SFN and _SQS"))
	}

	return checks, unreached
}

func endpointAction(s service, region string) string {
	if s.endpoint == nil {
		return fmt.Sprintf("check the network, and that %q is a region (AWS_REGION, or region in the profile)", region)
	}

	return "start what should answer there, or change endpoint-url or the AWS_ENDPOINT_URL variables"
}

// ask makes one call and notes the service's time.
func (e *examination) ask(ctx context.Context, s service) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()

	metadata, err := s.ask(ctx)
	e.noteTime(metadata, err)

	return err
}

// noteTime notes how far the clock of a service is ahead, by the header Date of its answer.
func (e *examination) noteTime(metadata middleware.Metadata, err error) {
	now := time.Now()

	response, _ := awsmiddleware.GetRawResponse(metadata).(*smithyhttp.Response)
	// A refusal has a header Date, too. It matters most when the clock is so wrong that AWS refuses
	// signatures.
	if failed, is := errors.AsType[*smithyhttp.ResponseError](err); is {
		response = failed.Response
	}

	if response == nil || response.Response == nil {
		return
	}

	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		e.skews = append(e.skews, date.Sub(now))
	}
}

// checkClock compares the clocks by the largest difference.
func (e *examination) checkClock() []Check {
	const subject = "clock"

	if len(e.skews) == 0 {
		if e.cfg.InProcess {
			return nil
		}

		return []Check{NewUnchecked(subject, "no answer had the header Date", "compare the clock with a time server")}
	}

	// The largest difference decides: one service that refuses signatures is enough.
	worst := e.skews[0]
	for _, skew := range e.skews {
		if skew.Abs() > worst.Abs() {
			worst = skew
		}
	}

	found := fmt.Sprintf("this machine differs from the services by %s", worst.Abs().Round(time.Second))
	const action = "set the clock by a time server (chrony, systemd-timesyncd)"

	switch {
	case worst.Abs() > maxSkew:
		return []Check{NewFailure(subject, found+"; AWS refuses signatures from 5m on", action)}
	case worst.Abs() > smallSkew:
		return []Check{NewWarning(subject, found, action)}
	}

	return []Check{NewOK(subject, found)}
}
