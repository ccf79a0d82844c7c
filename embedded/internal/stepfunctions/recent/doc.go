// Package recent keeps the stored form of executions that were active a moment ago, so that their next
// stimulus reads nothing from the store.
package recent
