package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/operate/jobs"
	"ratchet/workflow"
)

func (s *service) migrationRoutes(h huma.API) {
	register(s, h, route{
		id:      "get-migration-plan",
		method:  http.MethodGet,
		path:    "/v1/workflow/migration",
		tag:     "workflow",
		scope:   auth.Read,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Say what a migration to the server's version of the definition would do with the tenant's orders",
		description: "From the counts of orders, which are as old as countedAt and upTo say. It is the plan without a mapping: each order keeps the name of its state. " +
			"POST takes a mapping; `ratchet workflow migrate --dry-run` counts now.",
	}, s.getMigrationPlan)
	register(s, h, route{
		id:      "plan-migration",
		method:  http.MethodPost,
		path:    "/v1/workflow/migration",
		tag:     "workflow",
		scope:   auth.Act,
		status:  http.StatusOK,
		errors:  []int{http.StatusNotFound},
		summary: "Say what a migration with a mapping would do with the tenant's orders",
		description: "From the same counts, with the texts that a job orders-migrate takes. Nothing is written, and no order is read. As a job does, it knows only " +
			"the server's version, the built-in one, and those in definitions: orders of others have no mapping, and problem says so.",
	}.withBody(), s.planMigration)
}

// migrationTexts say how orders come to the server's version of the definition.
type migrationTexts struct {
	Definitions []string `json:"definitions,omitempty" maxItems:"16" doc:"Files with other versions of the definition, in YAML or JSON."`
	Mapping     string   `json:"mapping,omitempty" doc:"The file with the mappings between versions."`
}

// waysOf reads the texts. A refusal names the member of the body, which is below within, and the rule.
func waysOf(m *jobs.Migration, own *workflow.Definition, within string) (*workflow.Migrations, error) {
	ways, err := m.Ways(own)

	var wrong *jobs.TextError
	if errors.As(err, &wrong) {
		return nil, newProblem(http.StatusUnprocessableEntity, "invalid_request", wrong.Rule.Error()).withField("body", within+wrong.Member, wrong.Rule.Error())
	}

	return ways, err
}

// plannedMove is what would become of the orders of another version in a state.
type plannedMove struct {
	Version int    `json:"version" doc:"The version of the definition that has moved them last."`
	State   string `json:"state" doc:"Empty: it cannot be read."`
	Orders  int64  `json:"orders"`
	To      string `json:"to,omitempty" doc:"Their state after the migration. Absent: the server's version has no such state, so a mapping must name one."`
	Ends    bool   `json:"ends" doc:"Whether that state is terminal."`
	Reopens bool   `json:"reopens,omitempty" doc:"Whether that state is not terminal although theirs is. Of a plan with definitions only."`
	Problem string `json:"problem,omitempty" doc:"Why the mapping names no state. Of a plan with definitions only."`
}

type migrationPlanOutput struct{ Body migrationPlan }

type migrationPlan struct {
	To        int           `json:"to" doc:"The server's version."`
	Moves     []plannedMove `json:"moves" doc:"Those without a state first, then by version and state. Empty before the first count, too."`
	Outdated  int64         `json:"outdated" doc:"How many orders of other versions would be migrated."`
	Unmapped  int64         `json:"unmapped" doc:"How many need a mapping first."`
	CountedAt *time.Time    `json:"countedAt,omitempty" doc:"When the count began. Absent before the first one."`
	UpTo      *time.Time    `json:"upTo,omitempty" doc:"Up to when transitions since then are in the numbers. Migrations are seen by the next count."`
}

type planMigrationInput struct{ Body migrationTexts }

func (s *service) getMigrationPlan(ctx context.Context, c caller, _ *struct{}) (*migrationPlanOutput, error) {
	d := s.definition()

	// Without texts it is not known which versions there have been: each order keeps the name of its state.
	return s.migrationPlan(ctx, c, func(m plannedMove) plannedMove {
		if d.HasState(workflow.State(m.State)) {
			m.To, m.Ends = m.State, d.Terminal(workflow.State(m.State))
		}

		return m
	})
}

func (s *service) planMigration(ctx context.Context, c caller, in *planMigrationInput) (*migrationPlanOutput, error) {
	d := s.definition()

	ways, err := waysOf(&jobs.Migration{Workflow: d.Name(), To: d.Version(), Definitions: in.Body.Definitions, Mapping: in.Body.Mapping}, d, "")
	if err != nil {
		return nil, err
	}

	return s.migrationPlan(ctx, c, func(m plannedMove) plannedMove {
		state := workflow.State(m.State)

		// The server's version is known, so there is no error.
		plan, _ := ways.Plan(d.Version(), map[int]map[workflow.State]int{m.Version: {state: 1}})
		for _, row := range plan.Rows {
			m.To, m.Reopens, m.Problem = string(row.To), row.Reopens, row.Problem
			m.Ends = row.To != "" && d.Terminal(row.To)
		}

		return m
	})
}

// migrationPlan returns the plan for the tenant's orders as they were counted. to completes a move of which version, state and number
// are known.
func (s *service) migrationPlan(ctx context.Context, c caller, to func(plannedMove) plannedMove) (*migrationPlanOutput, error) {
	if s.cfg.Processes == nil {
		return nil, notFound("counts")
	}

	count, known, err := s.cfg.Processes.NewestCount(ctx, c.tenant.owner())
	if err != nil {
		return nil, err
	}

	d := s.definition()
	out := &migrationPlanOutput{}
	out.Body.To, out.Body.Moves = d.Version(), []plannedMove{}

	if !known {
		return out, nil
	}
	out.Body.CountedAt, out.Body.UpTo = optionalTime(count.At), optionalTime(count.UpTo)

	for version, states := range count.Orders {
		// Orders without a version count as those of this one.
		if version == 0 || version == d.Version() {
			continue
		}

		for state, n := range states {
			if n <= 0 {
				continue
			}

			move := to(plannedMove{Version: version, State: state, Orders: n})
			if move.To != "" {
				out.Body.Outdated += n
			} else {
				out.Body.Unmapped += n
			}
			out.Body.Moves = append(out.Body.Moves, move)
		}
	}
	slices.SortFunc(out.Body.Moves, func(a, b plannedMove) int {
		return cmp.Or(cmp.Compare(min(len(a.To), 1), min(len(b.To), 1)), cmp.Compare(a.Version, b.Version), cmp.Compare(a.State, b.State))
	})

	return out, nil
}
