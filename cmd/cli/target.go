package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/embedded"
	"ratchet/server"
)

// createsData lists the commands that create the data directory if it is missing. All other
// commands need an existing one.
var createsData = []string{
	"init", "dev", "demo", "serve", "replay",
	"orders create", "executions start", "trigger",
	"inventory set", "accounts create", "payments authorize",
	"claims run", "locks acquire", "keys create", "endpoints create",
	"actions create", "actions reserve", "actions bulk",
}

// mayCreateData reports whether the command creates a missing data directory.
func mayCreateData(c *cobra.Command) bool {
	return slices.Contains(createsData, commandName(c))
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
	kind   targetKind
	where  string // a URL, region or directory
	region string // of the SDK's default chain
	data   string // the setting
	// identity is the identity of the directory that a process serves.
	identity string
	// services are the endpoints of the SDK's own settings, by the names of services.
	services []server.ServiceEndpoint
}

// resolveTarget returns the target that the settings name, in the order that the root's help gives.
func resolveTarget(ctx context.Context, cfg server.Config) target {
	at := target{data: cfg.Data}

	if cfg.EndpointURL != "" {
		at.kind, at.where = targetEndpoint, cfg.EndpointURL
		return at
	}

	at.region = server.ConfiguredRegion(ctx)

	// A served directory goes before AWS: its `ratchet dev` was started on purpose.
	if served, identity, ok := servedBy(ctx, cfg.Data); ok {
		at.kind, at.where, at.identity = targetServed, served, identity
		return at
	}

	if at.region != "" {
		at.kind, at.where = targetAWS, at.region
		at.services = server.ConfiguredEndpoints(ctx)

		return at
	}

	at.kind, at.where = targetEmbedded, cfg.Data

	return at
}

// String describes the target and why it is used, without the secrets of a URL.
func (t target) String() string {
	switch t.kind {
	case targetEndpoint:
		return fmt.Sprintf("the endpoint %s (endpoint-url)", withoutSecrets(t.where))
	case targetServed:
		return fmt.Sprintf("the `ratchet dev` at %s, which serves %s", t.where, t.data)
	case targetAWS:
		return t.describeAWS()
	case targetEmbedded:
		return "the embedded engine over " + t.where
	}

	return string(t.kind)
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
			named[i] = s.Service + " at " + withoutSecrets(s.URL)
		}
	}

	if !own {
		return fmt.Sprintf("AWS in %s (the region of the AWS configuration)", t.where)
	}

	return strings.Join(named, ", ") + " (endpoints of the AWS configuration)"
}

// note prints the target once, if no flag or setting names it directly.
func (s *settings) note(at target) {
	if s.quiet || s.noted {
		return
	}
	s.noted = true

	switch {
	case at.kind == targetAWS:
		fmt.Fprintf(s.progress.over(os.Stderr), "ratchet: using %s\n", at)
	// A region is configured, so AWS might have been meant.
	case at.kind == targetServed && at.region != "":
		fmt.Fprintf(s.progress.over(os.Stderr), "ratchet: using %s, and not AWS in %s\n", at, at.region)
	}
}

// dataExists fails if no engine has kept data in the directory.
func dataExists(dir string) error {
	found, err := embedded.Exists(dir)
	if err == nil && !found {
		err = fmt.Errorf("%w: there is no data in %s: name it with --data or an endpoint with --endpoint-url, or create it with `ratchet init` or `ratchet dev`",
			errNotFound, dir)
	}

	return err
}
