package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
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
			"`ratchet workflow migrate --dry-run` counts now, and knows mappings.",
	}, s.getMigrationPlan)
}

// plannedMove is what would become of the orders of another version in a state.
type plannedMove struct {
	Version int    `json:"version" doc:"The version of the definition that has moved them last."`
	State   string `json:"state" doc:"Empty: it cannot be read."`
	Orders  int64  `json:"orders"`
	To      string `json:"to,omitempty" doc:"Their state after the migration. Absent: the server's version has no such state, so a mapping must name one."`
	Ends    bool   `json:"ends" doc:"Whether that state is terminal."`
}

type migrationPlanOutput struct {
	Body struct {
		To        int           `json:"to" doc:"The server's version."`
		Moves     []plannedMove `json:"moves" doc:"Those without a state first, then by version and state. Empty before the first count, too."`
		Outdated  int64         `json:"outdated" doc:"How many orders of other versions would be migrated."`
		Unmapped  int64         `json:"unmapped" doc:"How many need a mapping first."`
		CountedAt *time.Time    `json:"countedAt,omitempty" doc:"When the count began. Absent before the first one."`
		UpTo      *time.Time    `json:"upTo,omitempty" doc:"Up to when transitions since then are in the numbers. Migrations are seen by the next count."`
	}
}

func (s *service) getMigrationPlan(ctx context.Context, c caller, _ *struct{}) (*migrationPlanOutput, error) {
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

			move := plannedMove{Version: version, State: state, Orders: n}
			if d.HasState(workflow.State(state)) {
				move.To, move.Ends = state, d.Terminal(workflow.State(state))
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
