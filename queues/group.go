package queues

// byGroup splits a batch into sequences of messages that must be handled one after the
// other: the messages of one group of a FIFO queue. Every other message is a sequence of its own.
// Sequences come in the order of their first messages.
func byGroup[T any](batch []T, key func(T) string) [][]T {
	var sequences [][]T

	index := map[string]int{}
	for _, m := range batch {
		k := key(m)
		if i, ok := index[k]; ok && k != "" {
			sequences[i] = append(sequences[i], m)
			continue
		}
		index[k] = len(sequences)
		sequences = append(sequences, []T{m})
	}

	return sequences
}

// orderedBy returns the group within which the message must keep its order, or "". The
// groups of a standard queue share it fairly, but keep no order.
func (m Message) orderedBy() string {
	if !m.FIFO() {
		return ""
	}

	return m.GroupID
}
