package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/internal/dynamo"
	"ratchet/internal/worker"
)

// dynamoDB has the methods of a *dynamodb.Client that this package calls.
type dynamoDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Config says where the jobs are. DynamoDB and Table must be set.
type Config struct {
	DynamoDB dynamoDB
	// Table is the name of a table as [TableInput] describes it.
	Table string
	// Rows is how long the rows of a job are kept after its selection, at least a second. A job must end before. Default: 14 days.
	Rows time.Duration
	// Now is the clock of this machine, which may be wrong: leases end by the time that the answers of DynamoDB state.
	// Default time.Now.
	Now func() time.Time
}

const (
	rowsKept = 14 * 24 * time.Hour
	// jobsKept is longer than a job may take, so that its rows expire before its item.
	jobsKept = 400 * 24 * time.Hour
)

// Store is the table of jobs. Its methods may be called from many goroutines.
type Store struct {
	cfg   Config
	clock *dynamo.Clock
}

// NewStore checks cfg and returns the store.
func NewStore(cfg Config) (*Store, error) {
	if cfg.Rows == 0 {
		cfg.Rows = rowsKept
	}

	var faults []error
	if cfg.DynamoDB == nil {
		faults = append(faults, errors.New("jobs: Config.DynamoDB: must be set"))
	}

	if cfg.Table == "" {
		faults = append(faults, errors.New("jobs: Config.Table: must be set"))
	}

	if cfg.Rows < time.Second {
		faults = append(faults, fmt.Errorf("jobs: Config.Rows %s: at least 1s", cfg.Rows))
	}

	clock := &dynamo.Clock{Local: cfg.Now}
	cfg.DynamoDB = listening{cfg.DynamoDB, clock}

	return &Store{cfg, clock}, errors.Join(faults...)
}

// TableInput describes the table of jobs. Its keys are partition and place.
func TableInput(name string) *dynamodb.CreateTableInput {
	return dynamo.Table(name, dynamo.TextKey(partitionKey), dynamo.TextKey(placeKey))
}

var (
	// ErrNotFound means that the tenant has no such job.
	ErrNotFound = errors.New("jobs: there is no such job")
	// ErrState means that the job's state does not allow it.
	ErrState = errors.New("jobs: the state of the job does not allow it")
)

// OpenError says that the tenant has an open job of the kind.
type OpenError struct {
	Kind Kind
	ID   string
}

func (e *OpenError) Error() string {
	return fmt.Sprintf("jobs: job %s of the kind %s has not ended", e.ID, e.Kind)
}

// Is reports that an open job is a matter of its state.
func (e *OpenError) Is(target error) bool { return target == ErrState }

// openJobs is the partition of the open jobs: one item for each tenant and kind.
const openJobs = "open"

func (s *Store) key(partition, place string) dynamo.Item {
	return dynamo.Item{partitionKey: dynamo.S(partition), placeKey: dynamo.S(place)}
}

func (s *Store) jobKey(tenant, id string) dynamo.Item { return s.key(jobsOf+tenant, id) }

func openPlace(tenant string, kind Kind) string { return tenant + "#" + string(kind) }

// Create stores a job, which a [Runner] then takes. It fails with ErrInvalid, and with an [*OpenError] while
// another job of the kind and tenant has not ended.
func (s *Store) Create(ctx context.Context, n New) (Job, error) {
	if err := n.check(); err != nil {
		return Job{}, err
	}

	n.IDs = slices.Compact(slices.Sorted(slices.Values(n.IDs)))
	if err := s.clock.LearnFrom(ctx, s.cfg.DynamoDB.GetItem, s.cfg.Table, s.jobKey(n.Tenant, "clock")); err != nil {
		return Job{}, fmt.Errorf("jobs: ask for the time: %w", err)
	}
	now := s.now()
	id := now.Format("20060102T150405.000") + "-" + rand.Text()[:10]

	// Before the job exists. If it does not come to exist, they expire.
	if err := s.putIDs(ctx, id, n.IDs, now); err != nil {
		return Job{}, fmt.Errorf("jobs: store the ids of a job: %w", err)
	}

	doc := document{n.Kind, n.Filter, len(n.IDs), n.DryRun, n.Again, n.Migration, n.Rate, n.By, n.Reason, now}
	item := s.jobKey(n.Tenant, id)
	item[docName], item[progressName] = dynamo.S(text(doc)), dynamo.S(text(progress{}))
	item[stateName], item[epochName] = dynamo.S(string(Waiting)), dynamo.N(0)
	item[ExpiryAttribute] = dynamo.Seconds(now.Add(jobsKept))

	open := s.key(openJobs, openPlace(n.Tenant, n.Kind))
	open[jobName] = dynamo.S(id)

	_, err := s.cfg.DynamoDB.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: s.putNew(open)}, {Put: s.putNew(item)},
	}})

	if marker, failed := dynamo.FailedPart(err, 0); failed {
		other := dynamo.Text(marker, jobName)
		// The SDK may have repeated this transaction after its answer was lost.
		if other != id {
			return Job{}, s.stillOpen(ctx, n, other)
		}

		err = nil
	}

	if err != nil {
		return Job{}, fmt.Errorf("jobs: store a job: %w", err)
	}

	return decode(item)
}

// stillOpen returns an OpenError, unless the open job has expired: its marker, which has no expiry, is removed then, so
// that the next call creates a job.
func (s *Store) stillOpen(ctx context.Context, n New, other string) error {
	if _, err := s.Get(ctx, n.Tenant, other); !errors.Is(err, ErrNotFound) {
		return &OpenError{n.Kind, other}
	}

	_, err := s.cfg.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.cfg.Table, Key: s.key(openJobs, openPlace(n.Tenant, n.Kind)),
		ConditionExpression:       aws.String("#job = :job"),
		ExpressionAttributeNames:  map[string]string{"#job": jobName},
		ExpressionAttributeValues: dynamo.Item{":job": dynamo.S(other)},
	})
	if _, changed := dynamo.FailedCondition(err); err != nil && !changed {
		return fmt.Errorf("jobs: remove the mark of an expired job: %w", err)
	}

	return &OpenError{n.Kind, other}
}

func (s *Store) putNew(item dynamo.Item) *types.Put {
	return &types.Put{
		TableName: &s.cfg.Table, Item: item, ConditionExpression: aws.String("attribute_not_exists(#place)"),
		ExpressionAttributeNames:            map[string]string{"#place": placeKey},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// idsEach is how many ids one item has.
const idsEach = 100

func (s *Store) putIDs(ctx context.Context, job string, ids []string, now time.Time) error {
	n := 0
	for chunk := range slices.Chunk(ids, idsEach) {
		item := s.key("ids#"+job, fmt.Sprintf("%04d", n))
		item["ids"] = dynamo.SS(chunk...)
		item[ExpiryAttribute] = dynamo.Seconds(now.Add(s.cfg.Rows))

		if _, err := s.cfg.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.cfg.Table, Item: item}); err != nil {
			return err
		}
		n++
	}

	return nil
}

// ids calls found for each id that the job was created with.
func (s *Store) ids(ctx context.Context, job string, found func(id string) error) error {
	return s.each(ctx, "ids#"+job, "", func(item dynamo.Item) error {
		set, _ := item["ids"].(*types.AttributeValueMemberSS)
		if set == nil {
			return nil
		}

		for _, id := range set.Value {
			if err := found(id); err != nil {
				return err
			}
		}

		return nil
	})
}

// each calls found for the items of a partition behind the place. Expired items are left out.
func (s *Store) each(ctx context.Context, partition, after string, found func(dynamo.Item) error) error {
	pages := dynamodb.NewQueryPaginator(s.cfg.DynamoDB, &dynamodb.QueryInput{
		TableName:                 &s.cfg.Table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("#partition = :partition AND #place > :after"),
		ExpressionAttributeNames:  map[string]string{"#partition": partitionKey, "#place": placeKey},
		ExpressionAttributeValues: dynamo.Item{":partition": dynamo.S(partition), ":after": dynamo.S(after + "\x00")},
		Limit:                     aws.Int32(rowsPage),
	})

	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("jobs: read table %s: %w", s.cfg.Table, err)
		}

		for _, item := range page.Items {
			if dynamo.HasExpired(item, ExpiryAttribute, s.now()) {
				continue
			}

			if err := found(item); err != nil {
				return err
			}
		}
	}

	return nil
}

const rowsPage = 200

// Get returns a job of the tenant.
func (s *Store) Get(ctx context.Context, tenant, id string) (Job, error) {
	out, err := s.cfg.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.cfg.Table, Key: s.jobKey(tenant, id), ConsistentRead: aws.Bool(true)})

	switch {
	case err != nil:
		return Job{}, fmt.Errorf("jobs: read job %s: %w", id, err)
	case len(out.Item) == 0 || dynamo.HasExpired(out.Item, ExpiryAttribute, s.now()):
		return Job{}, fmt.Errorf("%w: %s", ErrNotFound, id)
	}

	return decode(out.Item)
}

// List returns up to limit jobs of the tenant, newest first, behind the id after. next is "" at the end.
func (s *Store) List(ctx context.Context, tenant, after string, limit int) (found []Job, next string, err error) {
	if limit < 1 || limit > 1000 {
		return nil, "", fmt.Errorf("%w: limit %d: 1 to 1000", ErrInvalid, limit)
	}

	in := &dynamodb.QueryInput{
		TableName:                 &s.cfg.Table,
		KeyConditionExpression:    aws.String("#partition = :partition"),
		ExpressionAttributeNames:  map[string]string{"#partition": partitionKey},
		ExpressionAttributeValues: dynamo.Item{":partition": dynamo.S(jobsOf + tenant)},
		ScanIndexForward:          aws.Bool(false),
		Limit:                     aws.Int32(int32(limit)), // 1 to 1000
	}
	if after != "" {
		in.ExclusiveStartKey = s.jobKey(tenant, after)
	}

	out, err := s.cfg.DynamoDB.Query(ctx, in)
	if err != nil {
		return nil, "", fmt.Errorf("jobs: list the jobs: %w", err)
	}

	for _, item := range out.Items {
		j, err := decode(item)
		if err != nil {
			return nil, "", err
		}

		if !dynamo.HasExpired(item, ExpiryAttribute, s.now()) {
			found = append(found, j)
		}
	}

	return found, dynamo.Text(out.LastEvaluatedKey, placeKey), nil
}

// open returns the open jobs of all tenants.
func (s *Store) open(ctx context.Context) (found []Job, err error) {
	err = s.each(ctx, openJobs, "", func(item dynamo.Item) error {
		tenant, _, _ := strings.Cut(dynamo.Text(item, placeKey), "#")

		j, err := s.Get(ctx, tenant, dynamo.Text(item, jobName))
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		found = append(found, j)

		return err
	})

	return found, err
}

// Pause asks for a pause of the job. Its owner ends the act that runs, and then the job is paused. Without an
// owner it is paused at once. A repeat changes nothing.
func (s *Store) Pause(ctx context.Context, tenant, id string) (Job, error) {
	return s.want(ctx, tenant, id, Paused)
}

// Stop is Pause for good: a job that is stopped never goes on. What it has done stays done.
func (s *Store) Stop(ctx context.Context, tenant, id string) (Job, error) {
	return s.want(ctx, tenant, id, Stopped)
}

// rounds is how often a change is tried again that another one has overtaken.
const rounds = 10

func (s *Store) want(ctx context.Context, tenant, id string, wanted State) (Job, error) {
	for range rounds {
		j, err := s.Get(ctx, tenant, id)
		switch {
		case err != nil || j.State == wanted && j.Wanted == "":
			return j, err
		case j.State.Ended(), wanted == Paused && j.Wanted == Stopped:
			return j, fmt.Errorf("%w: job %s is %s", ErrState, id, j.State)
		}

		if j.owned(s.now()) {
			update := s.ifEpoch(j).SetValue(wantedName, dynamo.S(string(wanted)))
			if j, err = s.apply(ctx, update); !errors.Is(err, errLost) {
				return j, err
			}

			continue
		}

		// There is no owner that could end it in an orderly way. One that comes back finds another epoch.
		if j, err = s.settle(ctx, j, wanted, s.ifEpoch(j)); !errors.Is(err, errLost) {
			return j, err
		}
	}

	return Job{}, fmt.Errorf("jobs: job %s changes all the time", id)
}

// Resume lets a paused job go on, also one that is about to be paused. A repeat changes nothing.
func (s *Store) Resume(ctx context.Context, tenant, id string) (Job, error) {
	for range rounds {
		j, err := s.Get(ctx, tenant, id)
		if err != nil {
			return j, err
		}

		update := s.ifEpoch(j).Remove(wantedName)

		switch {
		case j.State.Ended() || j.Wanted == Stopped:
			return j, fmt.Errorf("%w: job %s is %s", ErrState, id, j.State)
		case j.State == Paused:
			update.SetValue(stateName, dynamo.S(string(Waiting))).RemoveAttribute(problemName)
		case j.Wanted != Paused:
			return j, nil
		}

		if j, err = s.apply(ctx, update); !errors.Is(err, errLost) {
			return j, err
		}
	}

	return Job{}, fmt.Errorf("jobs: job %s changes all the time", id)
}

// errLost means that the job has another epoch than the caller has seen.
var errLost = errors.New("jobs: the job has another owner")

// ifEpoch returns an update of the job's item while it has the epoch and the state.
func (s *Store) ifEpoch(j Job) *dynamo.Update {
	return dynamo.NewUpdate(s.cfg.Table, s.jobKey(j.Tenant, j.ID)).IfEquals(epochName, dynamo.N(j.Epoch)).IfEquals(stateName, dynamo.S(string(j.State)))
}

func (s *Store) apply(ctx context.Context, update *dynamo.Update) (Job, error) {
	out, err := s.cfg.DynamoDB.UpdateItem(ctx, update.Input())
	if _, failed := dynamo.FailedCondition(err); failed {
		return Job{}, errLost
	}

	if err != nil {
		return Job{}, fmt.Errorf("jobs: change a job: %w", err)
	}

	return decode(out.Attributes)
}

// settle completes an update that brings the job into a state without an owner: paused, or one of its ends. It
// raises the epoch.
func (s *Store) settle(ctx context.Context, j Job, to State, update *dynamo.Update) (Job, error) {
	update.SetValue(epochName, dynamo.N(j.Epoch+1)).
		SetValue(stateName, dynamo.S(string(to))).
		RemoveAttribute(wantedName).RemoveAttribute(ownerName).RemoveAttribute(leaseName)

	if !to.Ended() {
		return s.apply(ctx, update)
	}

	now := s.now()
	update.SetValue(endedName, dynamo.Millis(now))

	err := s.write(ctx, types.TransactWriteItem{Update: update.Part()}, types.TransactWriteItem{Delete: &types.Delete{
		TableName: &s.cfg.Table, Key: s.key(openJobs, openPlace(j.Tenant, j.Kind)),
	}})
	if err != nil {
		return Job{}, err
	}

	return s.Get(ctx, j.Tenant, j.ID)
}

// write sends a transaction whose first part has the condition of the epoch.
func (s *Store) write(ctx context.Context, parts ...types.TransactWriteItem) error {
	err := worker.Retry(ctx, actBackoff, actTries, func() error {
		_, err := s.cfg.DynamoDB.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: parts})
		if err != nil && !passing(err) {
			return worker.Permanent(err)
		}

		return err
	})

	if _, lost := dynamo.FailedPart(err, 0); lost {
		return errLost
	}

	return err
}

// passing reports whether a transaction was canceled, and so has written nothing, only because of load or of other
// transactions.
func passing(err error) bool {
	codes := dynamo.InTheWay(err)

	return len(codes) > 0 && !slices.ContainsFunc(codes, func(code string) bool { return !slices.Contains(passingCodes, code) })
}

var passingCodes = []string{"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
