// Package events shows the events of an execution's history as GetExecutionHistory returns them.
//
// [View.Show] takes an event as package execution stores it. A table has, for each type of event, the member with its
// details, the details that only the type has, and the name of its document in them.
//
// Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html
package events
