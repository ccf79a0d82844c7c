package console

import (
	"context"

	"github.com/a-h/templ"
)

// migrationPlan is what a migration would do.
type migrationPlan struct {
	To    int
	Moves []struct {
		Version   int
		State, To string
		Orders    int64
		Ends      bool
	}
	Outdated, Unmapped int64
	CountedAt          moment
}

// withMigration is the page of the workflow with the plan of a migration, if the installation counts its orders.
func withMigration(ctx context.Context, v *visit) (content, error) {
	c, err := workflow(ctx, v)
	if err != nil {
		return content{}, err
	}

	var plan migrationPlan
	if err := v.get(ctx, "/v1/workflow/migration", &plan); isMissing(err) {
		return c, nil
	} else if err != nil {
		return content{}, err
	}
	c.body = templ.Join(c.body, migrationSection(v, plan))

	return c, nil
}
