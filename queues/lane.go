package queues

// lanes splits a batch into runs of messages that must be handled one after the
// other, in order: those of one group of a FIFO queue. Any other message is a lane of
// its own. Lanes come in the order of their first messages.
func lanes[T any](batch []T, key func(T) string) [][]T {
	var out [][]T
	at := map[string]int{}
	for _, m := range batch {
		k := key(m)
		if i, ok := at[k]; ok && k != "" {
			out[i] = append(out[i], m)
			continue
		}
		at[k] = len(out)
		out = append(out, []T{m})
	}

	return out
}

// lane is the key of the message's lane; empty: a lane of its own. A standard queue
// keeps no order, also where its messages have groups (they share it fairly).
func (m Message) lane() string {
	if !m.FIFO() {
		return ""
	}
	return m.GroupID
}
