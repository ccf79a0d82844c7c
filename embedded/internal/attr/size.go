package attr

// Overheads of document types in bytes.
// Rule: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
const (
	documentOverhead = 3
	elementOverhead  = 1
)

// MaxItemSize is the largest item in bytes, names included.
const MaxItemSize = 400 << 10

// Size is what DynamoDB counts for the item, in bytes: names and values.
func (i Item) Size() int {
	total := 0
	for name, v := range i {
		total += len(name) + v.Size()
	}

	return total
}

// Size is what DynamoDB counts for the value, in bytes.
func (v Value) Size() int {
	switch v.Kind {
	case S, B:
		return len(v.Str)
	case N:
		return numberSize(v.Str)
	case BOOL, NULL:
		return 1
	case M:
		return documentOverhead + elementOverhead*len(v.Map) + v.Map.Size()
	case L:
		total := documentOverhead
		for _, e := range v.List {
			total += elementOverhead + e.Size()
		}

		return total
	case SS, BS:
		total := 0
		for _, m := range v.Set {
			total += len(m)
		}

		return total
	case NS:
		total := 0
		for _, m := range v.Set {
			total += numberSize(m)
		}

		return total
	default:
		return 0
	}
}

// numberSize is one byte of exponent, one per pair of digits (pairs are counted
// from the decimal point), and one more when negative; zero takes one byte.
func numberSize(text string) int {
	d := mustDecimal(text)
	if d.n == 0 {
		return 1
	}

	size := 1 + d.pairs()
	if d.negative {
		size++
	}

	return size
}

// pairs is how many base-100 digits the number has.
func (d *decimal) pairs() int {
	lead := 0
	if d.exponent%2 == 0 {
		lead = 1 // the first pair holds one digit: 123 is 01 23
	}

	return (d.n + lead + 1) / 2
}

// Depth is how many levels the value has: 1 for a scalar, a set, or an empty map or
// list.
func (v Value) Depth() int {
	below := 0
	for _, e := range v.List {
		below = max(below, e.Depth())
	}

	for _, e := range v.Map {
		below = max(below, e.Depth())
	}

	return 1 + below
}
