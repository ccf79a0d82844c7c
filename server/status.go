package server

import (
	"context"
	"time"

	"ratchet/notify"
	"ratchet/operate/audit"
	"ratchet/operate/inspect"
	"ratchet/workflow/plan"
)

// Status says what runs where, how much it does, and what needs a person. See [inspect.Status].
func (b *Backend) Status(ctx context.Context) (inspect.SystemStatus, error) {
	return inspect.Status(ctx, inspect.StatusSources{
		Processes:   b.Processes.Check,
		Survey:      b.Processes.NewestSurvey,
		Stream:      b.wholeStreamStatus,
		OffHandlers: b.OffHandlers(),
		Endpoints:   b.Endpoints.List,
		Queued:      b.queued,
		Reports:     b.Reports.Count,
		Acts:        b.readActs,
		Quotas:      b.quotas(),
		OrderReads:  countOrderReads,
		OrderWrites: countOrderWrites,
		MaxLag:      b.Config.ReadyLag,
	})
}

// queued counts the deliveries of an endpoint.
func (b *Backend) queued(ctx context.Context, endpoint string, status notify.Status, limit int) (count int, more bool, err error) {
	found, next, err := b.Deliveries.List(ctx, endpoint, status, time.Time{}, "", limit)
	return len(found), next != "", err
}

// readActs reads the audit table, to find out whether it can be read.
func (b *Backend) readActs(ctx context.Context) error {
	_, _, err := b.Audit.List(ctx, audit.Filter{Since: time.Now().Add(-time.Minute)}, "", 1)
	return err
}

// quotas returns AWS's default quotas in the Region. It returns nil if the backend is not AWS.
func (b *Backend) quotas() plan.Quotas {
	if b.Engine != nil || b.Config.EndpointURL != "" {
		return nil
	}

	// The three Regions with higher quotas for Step Functions (Service Quotas of AWS Step Functions).
	switch b.awsConfig.Region {
	case "us-east-1", "us-west-2", "eu-west-1":
		return plan.USEast1()
	}

	return plan.OtherRegions()
}
