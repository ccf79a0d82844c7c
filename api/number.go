package api

import (
	"strconv"

	"ratchet/transitions"
)

func text(id transitions.TransitionID) string { return strconv.FormatInt(int64(id), 10) }

// number reads what text wrote; 0 for nothing.
func number(s string) transitions.TransitionID {
	n, _ := strconv.ParseInt(s, 10, 64) // the cursor is sealed: it holds what we wrote
	return transitions.TransitionID(n)
}
