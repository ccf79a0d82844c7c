package transitions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ratchet/transitions"
	"ratchet/workflow"
)

// gatheringDB counts the writes of rows. The first row alone takes a while, so that others gather behind it.
type gatheringDB struct {
	*dynamodb.Client
	// statements replaces the batches, if it is set.
	statements func(context.Context, *dynamodb.BatchExecuteStatementInput) (*dynamodb.BatchExecuteStatementOutput, error)

	mu      sync.Mutex
	alone   int
	batches []int // their rows
}

const firstRowTakes = 50 * time.Millisecond

func (db *gatheringDB) PutItem(ctx context.Context, in *dynamodb.PutItemInput, options ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	db.mu.Lock()
	db.alone++
	first := db.alone == 1
	db.mu.Unlock()

	if first {
		time.Sleep(firstRowTakes)
	}

	return db.Client.PutItem(ctx, in, options...)
}

func (db *gatheringDB) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput, options ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	db.mu.Lock()
	db.batches = append(db.batches, len(in.Statements))
	db.mu.Unlock()

	// Full batches are written beside each other, so the rest has to wait for one.
	time.Sleep(firstRowTakes)

	if db.statements != nil {
		return db.statements(ctx, in)
	}

	return db.Client.BatchExecuteStatement(ctx, in, options...)
}

// placedChanges places orders whose execution is named, and returns their records.
func placedChanges(t *testing.T, s *orders, n int) (changes []transitions.Change) {
	t.Helper()

	for i := range n {
		id := transitions.OrderID(fmt.Sprintf("o-%02d", i))
		s.place(t, id)

		change, _, err := s.Orders.Mapping().FromRecord(nil, s.Item(t, id))
		if err != nil {
			t.Fatal(err)
		}
		change.Transition.Cause = transitions.Cause{Code: "web", Actor: "key:ada", Source: "api"}
		changes = append(changes, change)
	}

	return changes
}

// recordTogether records all changes at the same moment, the first one before the others.
func (s *orders) recordTogether(t *testing.T, changes []transitions.Change) []error {
	t.Helper()

	errs := make([]error, len(changes))
	var work sync.WaitGroup

	for i, change := range changes {
		work.Go(func() { errs[i] = s.Record(t.Context(), change) })

		if i == 0 {
			synctest.Wait()
		}
	}
	work.Wait()

	return errs
}

// over opens the orders over the database.
func (s *orders) over(db transitions.DynamoDB) {
	s.reconfigure(func(c *transitions.Config) { c.DynamoDB = db })
}

// wantRows reports orders whose journal is not the one row that places them.
func (s *orders) wantRows(t *testing.T, changes []transitions.Change) {
	t.Helper()

	for _, c := range changes {
		history, err := s.History(t.Context(), c.New.ID, 0, 0)
		if err != nil || len(history) != 1 || history[0].Cause != c.Transition.Cause {
			t.Errorf("%s: %+v, %v", c.New.ID, history, err)
		}
	}
}

func TestRowsThatAreRecordedTogetherShareACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOrders(t)
		changes := placedChanges(t, s, 1+25+25+9)
		db := &gatheringDB{Client: s.DB}
		s.over(db)

		for range 2 { // the second time, each row is there
			if err := errors.Join(s.recordTogether(t, changes)...); err != nil {
				t.Fatal(err)
			}
			s.wantRows(t, changes)

			if fmt.Sprint(db.batches) != "[25 25 9]" {
				t.Errorf("batches of %v rows", db.batches)
			}
			db.batches, db.alone = nil, 0
		}
	})
}

// TestALateBatchBringsNothingBack: the call of a batch has no answer, the rows are written alone, and
// the persons are erased from them. Then the service carries out the batch.
func TestALateBatchBringsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOrders(t)
		s.reconfigure(func(c *transitions.Config) { c.Definition = terminalPending(t) })
		changes := placedChanges(t, s, 4)

		var late *dynamodb.BatchExecuteStatementInput
		s.reconfigure(func(c *transitions.Config) {
			c.Definition = terminalPending(t)
			c.DynamoDB = &gatheringDB{Client: s.DB, statements: func(_ context.Context, in *dynamodb.BatchExecuteStatementInput) (*dynamodb.BatchExecuteStatementOutput, error) {
				late = in
				return nil, errors.New("the connection was lost")
			}}
		})

		if err := errors.Join(s.recordTogether(t, changes)...); err != nil {
			t.Fatal(err)
		}
		s.wantRows(t, changes)

		for _, c := range changes {
			if n, err := s.EraseHistory(t.Context(), s.read(t, c.New.ID)); n != 1 || err != nil {
				t.Fatalf("%s: %d rows, %v", c.New.ID, n, err)
			}
		}

		out, err := s.DB.BatchExecuteStatement(t.Context(), late)
		if err != nil || len(out.Responses) != 3 {
			t.Fatal(out, err)
		}

		for i, answer := range out.Responses {
			if answer.Error == nil || answer.Error.Code != types.BatchStatementErrorCodeEnumDuplicateItem {
				t.Errorf("statement %d: %+v", i, answer.Error)
			}
		}

		for i := range changes {
			changes[i].Transition.Cause = transitions.Cause{Code: "web", Source: "api"}
		}
		s.wantRows(t, changes)
	})
}

// TestARowThatABatchDoesNotWriteIsJudgedAlone: one statement is throttled, one finds its row, and one
// finds the row of another transition.
func TestARowThatABatchDoesNotWriteIsJudgedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOrders(t)
		changes := placedChanges(t, s, 5)
		db := &gatheringDB{Client: s.DB}
		db.statements = func(ctx context.Context, in *dynamodb.BatchExecuteStatementInput) (*dynamodb.BatchExecuteStatementOutput, error) {
			throttled := slices.IndexFunc(in.Statements, func(s types.BatchStatementRequest) bool {
				return slices.ContainsFunc(s.Parameters, func(v types.AttributeValue) bool {
					text, _ := v.(*types.AttributeValueMemberS)
					return text != nil && text.Value == string(changes[1].New.ID)
				})
			})
			sent := *in
			sent.Statements = slices.Delete(slices.Clone(in.Statements), throttled, throttled+1)

			out, err := s.DB.BatchExecuteStatement(ctx, &sent)
			if err == nil {
				refusal := types.BatchStatementResponse{Error: &types.BatchStatementError{Code: types.BatchStatementErrorCodeEnumThrottlingError}}
				out.Responses = slices.Insert(out.Responses, throttled, refusal)
			}

			return out, err
		}

		other := changes[4]
		other.Transition.Event, other.Transition.To = workflow.Cancel, workflow.Cancelled

		for _, c := range []transitions.Change{changes[3], other} {
			if err := s.Record(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		s.over(db)

		errs := s.recordTogether(t, changes)
		if err := errors.Join(errs[:4]...); err != nil || !errors.Is(errs[4], transitions.ErrJournalAhead) {
			t.Errorf("%v, and %v", err, errs[4])
		}
		s.wantRows(t, changes[:4])

		// The first row, the throttled one and the two that are refused.
		if fmt.Sprint(db.batches, db.alone) != "[4] 4" {
			t.Errorf("batches of %v rows, %d rows alone", db.batches, db.alone)
		}
	})
}

// TestAServiceThatRefusesBatchesIsAskedOnce: without the permission, or on an endpoint without statements,
// each row is written alone.
func TestAServiceThatRefusesBatchesIsAskedOnce(t *testing.T) {
	denied := types.BatchStatementResponse{Error: &types.BatchStatementError{Code: types.BatchStatementErrorCodeEnumAccessDenied}}

	for name, answer := range map[string]struct {
		out *dynamodb.BatchExecuteStatementOutput
		err error
	}{
		"the call":        {err: &smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient}},
		"its statements":  {out: &dynamodb.BatchExecuteStatementOutput{Responses: []types.BatchStatementResponse{denied, denied}}},
		"as an operation": {err: &smithy.GenericAPIError{Code: "UnknownOperationException", Fault: smithy.FaultClient}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newOrders(t)
				changes := placedChanges(t, s, 3)
				db := &gatheringDB{Client: s.DB, statements: func(context.Context, *dynamodb.BatchExecuteStatementInput) (*dynamodb.BatchExecuteStatementOutput, error) {
					return answer.out, answer.err
				}}
				s.over(db)

				for range 2 {
					if err := errors.Join(s.recordTogether(t, changes)...); err != nil {
						t.Fatal(err)
					}
				}
				s.wantRows(t, changes)

				if fmt.Sprint(db.batches) != "[2]" {
					t.Errorf("batches of %v rows", db.batches)
				}
			})
		})
	}
}

// TestABatchThatHangsHoldsUpNoOtherRow, and a caller that has waited for it leaves with its context.
func TestABatchThatHangsHoldsUpNoOtherRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOrders(t)
		changes := placedChanges(t, s, 4)
		s.over(&gatheringDB{Client: s.DB, statements: func(ctx context.Context, _ *dynamodb.BatchExecuteStatementInput) (*dynamodb.BatchExecuteStatementOutput, error) {
			<-ctx.Done()

			return nil, ctx.Err()
		}})
		began := time.Now()

		var work sync.WaitGroup
		for i, change := range changes[:3] {
			work.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Minute+time.Second)
				defer cancel()

				// The first row is written alone; the others are in the batch that hangs.
				if err := s.Record(ctx, change); (err == nil) != (i == 0) {
					t.Errorf("row %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		time.Sleep(firstRowTakes + time.Second)

		if err := s.Record(t.Context(), changes[3]); err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("a later row: %v, after %v", err, time.Since(began))
		}
		work.Wait()

		if took := time.Since(began); took != 2*time.Minute+time.Second {
			t.Errorf("the last caller left after %v", took)
		}
		s.wantRows(t, []transitions.Change{changes[0], changes[3]})
	})
}
