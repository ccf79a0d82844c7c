package attr

// What documents cost beside their content, in bytes.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
const (
	documentOverhead = 3
	elementOverhead  = 1
)

// Size returns the item's size as DynamoDB counts it, in bytes: names and values.
func (i Item) Size() int {
	total := 0
	for name, v := range i {
		total += len(name) + v.Size()
	}

	return total
}

// Size returns the value's size as DynamoDB counts it, in bytes.
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
		for _, e := range v.List() {
			total += elementOverhead + e.Size()
		}

		return total
	// Sets have no overhead, unlike lists.
	case SS, BS:
		total := 0
		for _, m := range v.Set() {
			total += len(m)
		}

		return total
	case NS:
		total := 0
		for _, m := range v.Set() {
			total += numberSize(m)
		}

		return total
	default:
		return 0
	}
}

// numberSize returns the size of a number: one byte for the exponent, one per pair of
// digits, and one more when it is negative. Zero takes one byte. AWS documents it only
// approximately; TestSize has the observations.
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

// Depth returns the number of levels of the value: 1 for a scalar, a set, or an empty map
// or list.
func (v Value) Depth() int {
	below := 0
	for _, e := range v.List() {
		below = max(below, e.Depth())
	}

	for _, e := range v.Map {
		below = max(below, e.Depth())
	}

	return 1 + below
}
