package server

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/plural"
	"ratchet/internal/worker"
	"ratchet/operate/executions"
	"ratchet/operate/processes"
)

const (
	// defaultStuckEvery is the time between two counts of stuck orders without the setting stuck-every.
	defaultStuckEvery = time.Hour
	// mostSurveyed is how many orders a count may read without the setting stuck-every. They cost about
	// 25,000 read units, a third of a US cent.
	mostSurveyed = 100_000
	// surveyLook is the time between two looks of a worker whether a count is due.
	surveyLook = time.Minute
)

// stuckKinds are the kinds of problems that a survey finds.
func stuckKinds() []executions.Kind {
	return []executions.Kind{executions.Failed, executions.Ended, executions.Missing, executions.Overdue, executions.Lost, executions.Unreadable, executions.UnknownVersion}
}

// surveyStuck counts the stuck orders whenever a count is due and this worker claims it, until ctx ends.
func (b *Backend) surveyStuck(ctx context.Context) error {
	every := b.Config.StuckEvery
	if every < 0 {
		return nil
	}

	if every == 0 {
		every = defaultStuckEvery
	}

	for worker.Wait(ctx, min(surveyLook, every)) {
		// Only one worker claims each count, so that the orders are read once and not by every worker.
		mine, err := b.Processes.ClaimSurvey(ctx, time.Now(), every)
		if err == nil && mine {
			_, err = b.CountStuck(ctx, b.Config.StuckEvery == 0)
		}

		if err != nil && ctx.Err() == nil {
			b.log.Warn("stuck orders could not be counted", "error", err)
		}
	}

	return nil
}

// CountStuck counts the orders that need a person and stores the result for all processes. It reads all
// orders, and the executions of the orders that have not ended; see [executions.Executions.Survey].
// With bounded, it does not count if the table has more than 100,000 orders, and Skipped says so.
func (b *Backend) CountStuck(ctx context.Context, bounded bool) (processes.Survey, error) {
	return b.countStuck(ctx, bounded, func(executions.Problem) {}, func(int) {})
}

// countStuck is CountStuck. It calls found for each problem, and looked with the number of orders seen so far.
func (b *Backend) countStuck(ctx context.Context, bounded bool, found func(executions.Problem), looked func(int)) (processes.Survey, error) {
	began := time.Now()
	survey := processes.Survey{At: began.UTC().Truncate(time.Millisecond), Stuck: map[string]int{}}

	// A kind without a problem is stored as 0, so that its metric exists.
	for _, kind := range stuckKinds() {
		survey.Stuck[kind.Label()] = 0
	}

	rows := stuckRows{foundAt: survey.At, expiresAt: began.Add(3 * max(b.Config.StuckEvery, defaultStuckEvery)), stored: map[string]int{}}

	var err error
	if bounded {
		survey.Skipped, err = b.tooManyToSurvey(ctx)
	}

	if err == nil && survey.Skipped == "" {
		err = b.Executions.Survey(ctx, began, executions.Filter{Advance: true}, func(p executions.Problem) error {
			survey.Stuck[p.Kind.Label()]++
			rows.store(ctx, b, p)
			found(p)

			return nil
		}, func(orders int) {
			survey.Orders = orders
			looked(orders)
		})
	}

	// The rows are a help to find the orders. The count is right without them.
	if rows.err != nil {
		b.log.WarnContext(ctx, "stuck orders could not be stored", "error", rows.err)
	}

	if err != nil {
		return survey, err
	}
	survey.Took = time.Since(began)

	if err := b.Processes.StoreSurvey(ctx, survey); err != nil {
		return survey, err
	}
	b.observeSurvey(survey)

	return survey, nil
}

// stuckRows stores what a survey has found, at most processes.MostStuck of each kind and tenant. The rows end
// after three surveys, if workers do not survey any more.
type stuckRows struct {
	foundAt, expiresAt time.Time
	stored             map[string]int // by tenant and kind
	err                error          // the first one
}

func (r *stuckRows) store(ctx context.Context, b *Backend, p executions.Problem) {
	o := processes.StuckOrder{
		OrderID: string(p.Ref()), Kind: p.Kind.Label(), State: string(p.State), Since: p.Since, Cause: p.Cause, Commands: p.Commands,
		FoundAt: r.foundAt, ExpiresAt: r.expiresAt,
	}

	of := o.Owner() + "/" + o.Kind
	if r.stored[of] == processes.MostStuck || r.err != nil {
		return
	}
	r.stored[of]++

	r.err = b.Processes.StoreStuck(ctx, o)
}

// observeSurvey shows the result as metrics. If the orders were not counted, it changes nothing: a zero
// would be wrong.
func (b *Backend) observeSurvey(survey processes.Survey) {
	if survey.Skipped == "" {
		b.Telemetry.ObserveStuck(survey.Stuck, survey.At)
	}
}

// tooManyToSurvey returns the reason why the orders are not counted without the setting, or "" if they
// may be counted. It uses DynamoDB's own number of items, which is up to six hours old.
func (b *Backend) tooManyToSurvey(ctx context.Context) (string, error) {
	table, err := b.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &b.Tables.Orders})
	if err != nil {
		return "", fmt.Errorf("count orders of table %s: %w", b.Tables.Orders, err)
	}

	if orders := aws.ToInt64(table.Table.ItemCount); orders > mostSurveyed {
		return fmt.Sprintf("the table has %s, more than %d; set stuck-every to count them all the same", plural.Of(orders, "order"), mostSurveyed), nil
	}

	return "", nil
}
