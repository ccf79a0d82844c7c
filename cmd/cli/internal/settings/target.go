package settings

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/exit"
	"ratchet/embedded"
	"ratchet/server"
)

// CreatesData lists the commands that create the data directory if it is missing. All other
// commands need an existing one.
var CreatesData = []string{
	"init", "dev", "demo", "serve", "replay",
	"orders create", "executions start", "trigger",
	"inventory set", "accounts create", "payments authorize",
	"claims run", "locks acquire", "keys create", "endpoints create",
	"actions create", "actions reserve", "actions bulk",
}

// MayCreateData reports whether the command creates a missing data directory.
func MayCreateData(c *cobra.Command) bool {
	return slices.Contains(CreatesData, CommandName(c))
}

type targetKind string

// The kinds of targets, in the order in which they are preferred.
const (
	targetEndpoint targetKind = "endpoint"
	targetServed   targetKind = "dev"
	targetAWS      targetKind = "aws"
	targetEmbedded targetKind = "embedded"
)

// target is where the data of a command is.
type target struct {
	Kind   targetKind
	where  string // a URL, region or directory
	region string // of the SDK's default chain
	data   string // the setting
	// identity is the identity of the directory that a process serves.
	identity string
	// services are the endpoints of the SDK's own settings, by the names of services.
	services []server.ServiceEndpoint
}

// ResolveTarget returns the target that the settings name, in the order that the root's help gives.
func ResolveTarget(ctx context.Context, cfg server.Config) target {
	at := target{data: cfg.Data}

	if cfg.EndpointURL != "" {
		at.Kind, at.where = targetEndpoint, cfg.EndpointURL
		return at
	}

	at.region = server.ConfiguredRegion(ctx)

	// A served directory goes before AWS: its `ratchet dev` was started on purpose.
	if served, identity, ok := servedBy(ctx, cfg.Data); ok {
		at.Kind, at.where, at.identity = targetServed, served, identity
		return at
	}

	if at.region != "" {
		at.Kind, at.where = targetAWS, at.region
		at.services = server.ConfiguredEndpoints(ctx)

		return at
	}

	at.Kind, at.where = targetEmbedded, cfg.Data

	return at
}

// String describes the target and why it is used, without the secrets of a URL.
func (t target) String() string {
	switch t.Kind {
	case targetEndpoint:
		return fmt.Sprintf("the endpoint %s (endpoint-url)", WithoutSecrets(t.where))
	case targetServed:
		return fmt.Sprintf("the `ratchet dev` at %s, which serves %s", t.where, t.data)
	case targetAWS:
		return t.describeAWS()
	case targetEmbedded:
		return "the embedded engine over " + t.where
	}

	return string(t.Kind)
}

// describeAWS describes a target that the AWS configuration names: AWS, or the endpoints that it has for some
// services.
func (t target) describeAWS() string {
	named := make([]string, len(t.services))
	own := false

	for i, s := range t.services {
		named[i] = s.Service + " at AWS in " + t.region
		if s.URL != "" {
			own = true
			named[i] = s.Service + " at " + WithoutSecrets(s.URL)
		}
	}

	if !own {
		return fmt.Sprintf("AWS in %s (the region of the AWS configuration)", t.where)
	}

	return strings.Join(named, ", ") + " (endpoints of the AWS configuration)"
}

// note prints the target once, if no flag or setting names it directly.
func (s *Settings) note(at target) {
	if s.Quiet || s.noted {
		return
	}
	s.noted = true

	switch {
	case at.Kind == targetAWS:
		fmt.Fprintf(s.Progress.Over(os.Stderr), "ratchet: using %s\n", at)
	// A region is configured, so AWS might have been meant.
	case at.Kind == targetServed && at.region != "":
		fmt.Fprintf(s.Progress.Over(os.Stderr), "ratchet: using %s, and not AWS in %s\n", at, at.region)
	}
}

// dataExists fails if no engine has kept data in the directory.
func dataExists(dir string) error {
	found, err := embedded.Exists(dir)
	if err == nil && !found {
		err = fmt.Errorf("%w: there is no data in %s: name it with --data or an endpoint with --endpoint-url, or create it with `ratchet init` or `ratchet dev`",
			exit.ErrNoData, dir)
	}

	return err
}
