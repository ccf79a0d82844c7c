// Package stepfunctions is AWS Step Functions, Standard workflows, inside the
// process: definitions, executions with their history, and activities, over the
// real wire protocol.
package stepfunctions
