// Package status tells how far the stream of a table has been handled: its shards with their workers and the
// records after their checkpoints, the records that wait for each handler, dead letters, and what a person
// should look at. It needs no worker and changes nothing.
package status
