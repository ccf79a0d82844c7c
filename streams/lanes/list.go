package lanes

// laneList is a list of ready lanes, in the order in which they became ready. A ready lane is in
// two lists, and may be removed from the middle of both.
type laneList struct {
	kind        int // ofHandler or ofShard
	first, last *lane
}

// The two lists of a lane: of all ready lanes of its handler, and of those of them that belong to
// its shard.
const (
	ofHandler = iota
	ofShard
	laneLists
)

// laneNeighbors are the lanes before and after a lane in a list.
type laneNeighbors struct{ before, after *lane }

// push appends a lane that is not in the list.
func (list *laneList) push(l *lane) {
	l.neighbors[list.kind] = laneNeighbors{before: list.last}

	if list.last == nil {
		list.first = l
	} else {
		list.last.neighbors[list.kind].after = l
	}
	list.last = l
}

// remove removes a lane that is in the list.
func (list *laneList) remove(l *lane) {
	n := l.neighbors[list.kind]
	l.neighbors[list.kind] = laneNeighbors{}

	if n.before == nil {
		list.first = n.after
	} else {
		n.before.neighbors[list.kind].after = n.after
	}

	if n.after == nil {
		list.last = n.before
	} else {
		n.after.neighbors[list.kind].before = n.before
	}
}
