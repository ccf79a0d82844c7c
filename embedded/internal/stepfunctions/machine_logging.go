package stepfunctions

import (
	"cmp"
	"encoding/json"

	"ratchet/embedded/internal/wire"
)

// loggingConfiguration says where a machine writes its log. The engine describes it and writes no
// log.
type loggingConfiguration struct {
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

// check fails for a configuration that the service refuses.
// Source: LocalStack's recordings of AWS (test_sfn_api_logs).
func (c *loggingConfiguration) check() error {
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

// stored returns the configuration as DescribeStateMachine shows it, nil without one.
func (c *loggingConfiguration) stored() json.RawMessage {
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

// logging returns the configuration of the machine's log as DescribeStateMachine shows it.
func (m *machine) logging() json.RawMessage {
	if m.Logging == nil {
		return (&loggingConfiguration{}).stored()
	}

	return m.Logging
}
