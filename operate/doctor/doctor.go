package doctor

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// Config says what a program needs. AWS is required.
type Config struct {
	// AWS is the configuration of the program's clients.
	AWS aws.Config
	// InProcess says that the clients reach the embedded engine in this process, which needs no
	// credentials and has no address.
	InProcess bool
	Tables    []Table
	// Permissions are the permissions that the identity needs. Each is there once.
	Permissions []Permission
	// Machine is the state machine. Nil: none.
	Machine *Machine
	// Queue is the queue with requests. Nil: none.
	Queue *Queue
	// Alarms are the alarms that the templates create.
	Alarms []Alarm
	// Templates are the templates of the program. Nil: what they create is not compared.
	Templates *Templates
	// Readers returns the names of the groups that read the stream with this ARN. Nil: not asked.
	Readers func(ctx context.Context, streamARN string) ([]string, error)
}

// attempts is how often a call is sent. A person waits for the answer.
const attempts = 2

// examination is one run of Examine.
type examination struct {
	cfg     Config
	db      *dynamodb.Client
	streams *dynamodbstreams.Client
	sfn     *sfn.Client
	sqs     *sqs.Client
	sts     *sts.Client

	// caller is the identity, nil if it is not one of AWS.
	caller *arn.ARN
	// principal is the ARN of the user or role whose policies are simulated.
	principal string
	// simulated has IAM's decisions on permissions; notSimulated says why decisions are missing.
	simulated    map[Permission]decision
	notSimulated string
	// probed are the permissions that a check has tried.
	mu     sync.Mutex
	probed map[Permission]bool
	// described are the tables of cfg as they are, nil for tables that cannot be described.
	described []*types.TableDescription
	// machineRole is the ARN of the state machine's role, empty if it is not known.
	machineRole string
	// skews are how far the services' clocks were ahead in their answers.
	skews []time.Duration
}

// Examine makes every check. It changes nothing. If ctx ends, the remaining calls fail, and the
// checks report that.
func Examine(ctx context.Context, cfg Config) []Check {
	// A copy, because the program goes on with its own number of attempts.
	cfg.AWS = cfg.AWS.Copy()
	cfg.AWS.RetryMaxAttempts = attempts

	e := &examination{
		cfg:     cfg,
		probed:  map[Permission]bool{},
		db:      dynamodb.NewFromConfig(cfg.AWS),
		streams: dynamodbstreams.NewFromConfig(cfg.AWS),
		sfn:     sfn.NewFromConfig(cfg.AWS),
		sqs:     sqs.NewFromConfig(cfg.AWS),
		sts:     sts.NewFromConfig(cfg.AWS),
	}

	checks, usable := e.checkCredentials(ctx)
	if !usable {
		// Without credentials every call fails in the same way, and a failure per table would hide
		// the cause.
		return append(checks, NewUnchecked("everything else", "there are no usable credentials", "repeat the command with credentials"))
	}

	found, unreached := e.checkEndpoints(ctx)
	checks = append(checks, found...)
	checks = append(checks, e.checkClock()...)
	// The simulation comes before the checks, because they try only the permissions that it does
	// not allow.
	e.simulate(ctx)

	for _, s := range []struct {
		needs   []string
		subject string
		check   func(context.Context) []Check
	}{
		{[]string{nameDynamoDB}, "tables", e.checkTables},
		{[]string{nameDynamoDB, nameStreams}, "stream", e.checkStream},
		{[]string{nameSFN}, "state machine", e.checkMachine},
		{[]string{nameSQS}, "queue", e.checkQueue},
	} {
		if missing := unreached.among(s.needs); missing != "" {
			checks = append(checks, NewUnchecked(s.subject, missing+" could not be asked", "fix its endpoint first"))
			continue
		}

		checks = append(checks, s.check(ctx)...)
	}

	checks = append(checks, e.checkAlarms(ctx)...)
	checks = append(checks, e.checkResources(ctx)...)

	// This check comes last, because it reports the permissions that no check before it has tried.
	return append(checks, e.checkPermissions()...)
}
