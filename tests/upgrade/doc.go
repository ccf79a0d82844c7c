// Package upgrade runs processes of an earlier version and of this one over the same tables, at the same
// time: a rolling upgrade, and the way back.
//
//	make upgrade-check
//
// The earlier version is a commit of this repository. The test builds it, so it needs the history.
// While `earlier` names none, nothing runs.
package upgrade
