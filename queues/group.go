package queues

// byGroup splits a batch into sequences. The messages of a sequence must be handled one after the
// other: they have the same key, the group of a FIFO queue. A message with the key "" is a sequence
// of its own. Sequences come in the order of their first messages.
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

// orderedBy returns the group whose order the message must keep, "" for none. Groups of a standard
// queue are only for fairness and have no order.
func (m Message) orderedBy() string {
	if !m.FIFO() {
		return ""
	}

	return m.GroupID
}
