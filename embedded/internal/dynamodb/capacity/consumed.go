package capacity

import (
	"maps"
	"slices"
	"strconv"

	"ratchet/embedded/internal/dynamodb/answer"
)

func appendUnits(dst []byte, h Units) []byte {
	return strconv.AppendFloat(dst, h.Float(), 'f', 1, 64)
}

// Add adds the ConsumedCapacity of one table to the answer if the request asks for it.
func Add(a *answer.Object, want, table string, s Spent) {
	if want == "TOTAL" || want == "INDEXES" {
		a.Name("ConsumedCapacity").Buf = appendConsumed(a.Buf, want, table, &s, "")
	}
}

// appendConsumed appends one ConsumedCapacity. A transaction also reports the units under
// their kind, "ReadCapacityUnits" or "WriteCapacityUnits"; kind is empty for others.
func appendConsumed(dst []byte, want, table string, s *Spent, kind string) []byte {
	counts := func(dst []byte, units Units) []byte {
		dst = appendUnits(append(dst, `"CapacityUnits":`...), units)
		if kind != "" {
			dst = append(dst, `,"`+kind+`":`...)
			dst = appendUnits(dst, units)
		}

		return dst
	}
	dst = answer.AppendText(append(dst, `{"TableName":`...), table)
	dst = counts(append(dst, ','), s.Total())

	// TOTAL asks for the sum alone.
	if want == "INDEXES" {
		dst = append(counts(append(dst, `,"Table":{`...), s.Table), '}')
		dst = appendIndexes(dst, "GlobalSecondaryIndexes", s, false, counts)
		dst = appendIndexes(dst, "LocalSecondaryIndexes", s, true, counts)
	}

	return append(dst, '}')
}

// appendIndexes appends the units of the local or global indexes, if there are any.
func appendIndexes(dst []byte, name string, s *Spent, local bool, counts func([]byte, Units) []byte) []byte {
	first := true
	for _, x := range s.Indexes {
		if x.Local != local {
			continue
		}

		// The member appears only with its first index.
		if first {
			dst = append(append(append(dst, `,"`...), name...), `":{`...)
		} else {
			dst = append(dst, ',')
		}

		first = false
		dst = append(answer.AppendText(dst, x.Name), ':', '{')
		dst = append(counts(dst, x.Units), '}')
	}

	if !first {
		dst = append(dst, '}')
	}

	return dst
}

// AddSum adds the ConsumedCapacity of several tables to the answer if the request asks
// for it.
func AddSum(a *answer.Object, want string, sum Sum, kind string) {
	if want != "TOTAL" && want != "INDEXES" {
		return
	}
	a.Name("ConsumedCapacity")

	a.Buf = append(a.Buf, '[')
	for i, name := range slices.Sorted(maps.Keys(sum)) {
		if i > 0 {
			a.Buf = append(a.Buf, ',')
		}
		a.Buf = appendConsumed(a.Buf, want, name, sum[name], kind)
	}
	a.Buf = append(a.Buf, ']')
}
