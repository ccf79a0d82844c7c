package stepfunctions

// ordered holds keys by a number, smallest first: a binary heap that knows
// where each key is. The zero value is empty.
type ordered[K comparable] struct {
	items []orderedItem[K]
	at    map[K]int
}

type orderedItem[K comparable] struct {
	key   K
	order int64
}

func (o *ordered[K]) len() int { return len(o.items) }

// min returns the first key.
func (o *ordered[K]) min() (key K, order int64, ok bool) {
	if len(o.items) == 0 {
		return key, 0, false
	}
	return o.items[0].key, o.items[0].order, true
}

// set adds the key or moves it.
func (o *ordered[K]) set(key K, order int64) {
	if o.at == nil {
		o.at = map[K]int{}
	}
	i, ok := o.at[key]
	if !ok {
		i = len(o.items)
		o.items = append(o.items, orderedItem[K]{})
	}
	o.put(i, orderedItem[K]{key, order})
	o.settle(i)
}

// remove takes the key out, when it is there.
func (o *ordered[K]) remove(key K) {
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

func (o *ordered[K]) put(i int, item orderedItem[K]) {
	o.items[i] = item
	o.at[item.key] = i
}

// settle moves the item at i to where it belongs.
func (o *ordered[K]) settle(i int) {
	item := o.items[i]
	for i > 0 {
		up := (i - 1) / 2
		if o.items[up].order <= item.order {
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
		if down >= len(o.items) || item.order <= o.items[down].order {
			break
		}
		o.put(i, o.items[down])
		i = down
	}
	o.put(i, item)
}
