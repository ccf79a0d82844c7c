package settings

import (
	"cmp"
	"encoding/json"

	"ratchet/embedded/internal/wire"
)

// LoggingRequest says where a machine writes its log. The engine describes it and writes no
// log.
type LoggingRequest struct {
	Destinations         []logDestination
	IncludeExecutionData bool
	Level                string
}

type logDestination struct {
	CloudWatchLogsLogGroup *cloudWatchLogsLogGroup `json:"cloudWatchLogsLogGroup,omitempty"`
}

type cloudWatchLogsLogGroup struct {
	LogGroupArn *string `json:"logGroupArn,omitempty"`
}

// Check fails for a configuration that the service refuses.
// Source: LocalStack's recordings of AWS (test_sfn_api_logs).
func (c *LoggingRequest) Check() error {
	if c == nil {
		return nil
	}

	if err := wire.OneOf(c.Level, "loggingConfiguration.level", "ALL", "ERROR", "FATAL", "OFF"); err != nil {
		return err
	}

	// Level OFF is the default and needs no destination.
	n := len(c.Destinations)
	if n > 1 || n == 0 && cmp.Or(c.Level, "OFF") != "OFF" {
		return wire.Errorf("InvalidLoggingConfiguration", "Invalid Logging Configuration: Must specify exactly one Log Destination.")
	}

	return nil
}

// Stored returns the configuration as DescribeStateMachine shows it, nil without one.
func (c *LoggingRequest) Stored() json.RawMessage {
	if c == nil {
		return nil
	}

	shown := map[string]any{"level": cmp.Or(c.Level, "OFF"), "includeExecutionData": c.IncludeExecutionData}
	if c.Destinations != nil {
		shown["destinations"] = c.Destinations
	}

	text, err := json.Marshal(shown)
	if err != nil {
		return nil // it was JSON when it came
	}

	return text
}

// Tracing says whether executions are traced. The engine describes it and traces nothing.
type Tracing struct {
	Enabled bool `json:"enabled"`
}

// Described returns the configuration as answers show it. t may be nil.
func (t *Tracing) Described() Tracing { return *cmp.Or(t, &Tracing{}) }
