// Package ordered keeps keys in order while their places change: what is due next,
// who waits longest.
package ordered

// Keys holds keys by a number, smallest first: a binary heap that knows where
// each key is. The zero value is empty.
type Keys[K comparable] struct {
	items []item[K]
	at    map[K]int
}

type item[K comparable] struct {
	key   K
	order int64
}

// Len is how many keys there are.
func (o *Keys[K]) Len() int { return len(o.items) }

// Min returns the first key.
func (o *Keys[K]) Min() (key K, order int64, ok bool) {
	if len(o.items) == 0 {
		return key, 0, false
	}
	return o.items[0].key, o.items[0].order, true
}

// Set adds the key or moves it.
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
	o.settle(i)
}

// Remove takes the key out, when it is there.
func (o *Keys[K]) Remove(key K) {
	i, ok := o.at[key]
	if !ok {
		return
	}
	delete(o.at, key)

	last := len(o.items) - 1
	moved := o.items[last]
	o.items = o.items[:last]
	if i < last {
		o.put(i, moved)
		o.settle(i)
	}
}

func (o *Keys[K]) put(i int, it item[K]) {
	o.items[i] = it
	o.at[it.key] = i
}

// settle moves the item at i to where it belongs.
func (o *Keys[K]) settle(i int) {
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

// Order returns the key's number, and whether the key is there.
func (o *Keys[K]) Order(key K) (order int64, ok bool) {
	i, ok := o.at[key]
	if !ok {
		return 0, false
	}

	return o.items[i].order, true
}
