package ordered

// Keys holds each key with a number and gives the key with the smallest first. Keys with
// equal numbers have no order. The zero value is empty and ready to use.
type Keys[K comparable] struct {
	items []item[K] // a heap: items[i] is not above items[2i+1] and items[2i+2]
	at    map[K]int // the index of each key in items
}

type item[K comparable] struct {
	key   K
	order int64
}

// Len returns the number of keys.
func (o *Keys[K]) Len() int { return len(o.items) }

// Min returns a key with the smallest number. ok is false when there is no key.
func (o *Keys[K]) Min() (key K, order int64, ok bool) {
	if len(o.items) == 0 {
		return key, 0, false
	}

	return o.items[0].key, o.items[0].order, true
}

// Order returns the key's number. ok is false when the key is not there.
func (o *Keys[K]) Order(key K) (order int64, ok bool) {
	i, ok := o.at[key]
	if !ok {
		return 0, false
	}

	return o.items[i].order, true
}

// Set adds the key, or gives it another number.
func (o *Keys[K]) Set(key K, order int64) {
	if o.at == nil {
		o.at = map[K]int{}
	}

	i, ok := o.at[key]
	if !ok {
		i = len(o.items)
		o.items = append(o.items, item[K]{})
	}

	o.put(i, item[K]{key, order})

	// A new key starts as the last leaf. A known one may move up or down.
	o.fix(i)
}

// Remove takes the key out. It does nothing when the key is not there.
func (o *Keys[K]) Remove(key K) {
	i, ok := o.at[key]
	if !ok {
		return
	}
	delete(o.at, key)

	// The last item fills the gap and moves from there to its place.
	last := len(o.items) - 1
	moved := o.items[last]
	o.items = o.items[:last]

	if i < last {
		o.put(i, moved)
		o.fix(i)
	}
}

func (o *Keys[K]) put(i int, it item[K]) {
	o.items[i] = it
	o.at[it.key] = i
}

// fix moves the item at i up and then down until it is in its place.
func (o *Keys[K]) fix(i int) {
	it := o.items[i]

	for i > 0 {
		up := (i - 1) / 2
		if o.items[up].order <= it.order {
			break
		}

		o.put(i, o.items[up])
		i = up
	}

	for {
		// An item that has moved up is smaller than everything below it, and stays.
		down := 2*i + 1
		if down+1 < len(o.items) && o.items[down+1].order < o.items[down].order {
			down++
		}

		if down >= len(o.items) || it.order <= o.items[down].order {
			break
		}

		o.put(i, o.items[down])
		i = down
	}

	o.put(i, it)
}
