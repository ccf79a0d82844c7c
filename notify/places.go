package notify

// places are the numbers of free shared places. Each endpoint has one place of its own; its further
// places come from here. Endpoints that answer slowly use the slow places, so that an endpoint that
// hangs takes no place from quick endpoints.
type places struct{ quick, slow int }

// held are the shared places that one endpoint has.
type held struct{ quick, slow int }

// tenantPlaces is how many of n shared places of a kind the endpoints of one tenant may have: of both kinds together,
// so that a quarter of each kind is left for others. The tenant without a name, which is the operator's, may have all.
func tenantPlaces(tenant string, n int) int {
	if tenant == "" {
		return 2 * n
	}

	return max(1, n*3/4)
}

// has reports whether an endpoint can have another place.
func (p *places) has(slow bool) bool { return slow && p.slow > 0 || !slow && p.quick > 0 }

// take gives a shared place to an endpoint. has must have returned true.
func (p *places) take(h *held, slow bool) {
	if slow {
		h.slow++
		p.slow--

		return
	}
	h.quick++
	p.quick--
}

// giveBack returns a shared place of an endpoint.
func (p *places) giveBack(h *held) {
	// Slow places first: an endpoint that has become quick does not need them any more, and slow
	// endpoints do.
	if h.slow > 0 {
		h.slow--
		p.slow++

		return
	}
	h.quick--
	p.quick++
}

// slowDown exchanges the quick places of a slow endpoint for slow places, as far as slow places are
// free.
func (p *places) slowDown(h *held) {
	n := min(h.quick, p.slow)
	h.quick, h.slow = h.quick-n, h.slow+n
	p.quick, p.slow = p.quick+n, p.slow-n
}
