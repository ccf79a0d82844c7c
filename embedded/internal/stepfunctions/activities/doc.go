// Package activities keeps activities: a name, tags and a setting of encryption. Their tasks belong to the
// executions and wait in queues that outlive a deleted activity.
package activities
