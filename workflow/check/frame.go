package check

import "strconv"

// frame is the data of one scope of an execution: of the whole, of a branch, or of an item of a Map.
type frame struct {
	input *value // of the state that is entered next
	vars  *value // the variables of the scope, an object
	up    *frame // of the scope around it, nil at the top

	// entry is the visit of the Parallel or Map that began the scope.
	entry int32
	// alone says that the variables around the scope cannot be read: the items of a distributed Map are
	// executions of their own.
	alone bool
	// apart says that each item of the Map has an order of its own.
	apart bool

	key string
}

// frames has each frame once, so that equal ones are the same pointer.
type frames map[string]*frame

func (fs frames) of(f frame) *frame {
	f.key = f.input.key + "|" + f.vars.key + "|" + strconv.Itoa(int(f.entry)) + "|" +
		strconv.FormatBool(f.alone) + strconv.FormatBool(f.apart)
	if f.up != nil {
		f.key += "^" + f.up.key
	}

	if known := fs[f.key]; known != nil {
		return known
	}

	fs[f.key] = &f

	return &f
}

// with returns the frame with another input.
func (fs frames) with(f *frame, input *value) *frame {
	g := *f
	g.input = input

	return fs.of(g)
}

// assigned returns the frame with new values of variables.
func (fs frames) assigned(f *frame, vars *value) *frame {
	if vars == nil || vars.kind != object {
		return f
	}

	g := *f
	g.vars = f.vars.merge(vars)

	return fs.of(g)
}

// moved returns the frame after an event has moved the order.
func (fs frames) moved(f *frame, by first) *frame {
	if f == nil || by == nothing {
		return f
	}

	g := *f
	g.input, g.vars, g.up = f.input.moved(by), f.vars.moved(by), fs.moved(f.up, by)

	return fs.of(g)
}

// variable returns the value of a variable of the scope, or of one around it.
func (f *frame) variable(name string) *value {
	for {
		if v := f.vars.member(name); v.kind != missing || f.up == nil || f.alone {
			return v
		}
		f = f.up
	}
}

// contradicts reports whether two frames that have become of one cannot both be: a view has only one event that
// was the first after it.
func (f *frame) contradicts(g *frame) bool {
	if f == g || f == nil || g == nil {
		return false
	}

	return f.input.contradicts(g.input) || f.vars.contradicts(g.vars) || f.up.contradicts(g.up)
}
