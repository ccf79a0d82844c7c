// Package waiting has what executions wait for, in memory: tasks for their workers ([Queues]), times
// ([Timers]) and the ends of other executions ([Watchers]).
//
// Nothing of it is stored. The states of the running executions, which are, say what to add at a start.
package waiting
