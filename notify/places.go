package notify

// places are the numbers of attempts that may still start. The first place of each endpoint is its
// own; its further places come from here. Endpoints that answer slowly share places of their own, so
// that an endpoint that hangs takes none from the quick ones.
type places struct{ quick, slow int }

// held are the places of one endpoint beside its own.
type held struct{ quick, slow int }

// has reports whether an endpoint can have another place.
func (p *places) has(slow bool) bool { return slow && p.slow > 0 || !slow && p.quick > 0 }

// take gives a place to an endpoint, after has.
func (p *places) take(h *held, slow bool) {
	if slow {
		h.slow++
		p.slow--

		return
	}
	h.quick++
	p.quick--
}

// giveBack takes a place back.
func (p *places) giveBack(h *held) {
	// The slow place first: an endpoint that has become quick gives back the places that other slow
	// endpoints need.
	if h.slow > 0 {
		h.slow--
		p.slow++

		return
	}
	h.quick--
	p.quick++
}

// slowDown exchanges the places of an endpoint that has turned out to be slow, as far as there are
// slow ones.
func (p *places) slowDown(h *held) {
	n := min(h.quick, p.slow)
	h.quick, h.slow = h.quick-n, h.slow+n
	p.quick, p.slow = p.quick+n, p.slow-n
}
