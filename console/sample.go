package console

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"ratchet/api"
)

// The order that a click on an empty page places.
const (
	sampleOrder  = "hello-1"
	samplePiece  = "mug"
	sampleReason = "a sample order"
)

// placeSample places an order that can be watched, and leads to its page. A second click leads to the same order.
func (h *handler) placeSample(w http.ResponseWriter, r *http.Request) {
	v, ok := h.begin(w, r)
	if !ok {
		return
	}

	if err := v.placeSample(r.Context()); err != nil {
		h.writeProblem(w, r, v, err)
		return
	}

	http.Redirect(w, r, pathTo(Path+"/orders/%s", sampleOrder), http.StatusSeeOther)
}

func (v *visit) placeSample(ctx context.Context) error {
	var d definition
	if err := v.get(ctx, "/v1/workflow", &d); err != nil {
		return err
	}

	order := map[string]any{}
	if slices.Contains(d.Content, "total") {
		order["total"] = map[string]any{"amount": 2500, "currency": "EUR"}
	}

	if slices.Contains(d.Content, "items") {
		order["items"] = []map[string]any{{"sku": samplePiece, "quantity": 2, "price": 1250}}

		if err := v.fillStock(ctx); err != nil {
			return err
		}
	}

	return v.put(ctx, pathTo("/v1/orders/%s", sampleOrder), order)
}

// fillStock sets the stock of the sample's piece if there was never one.
func (v *visit) fillStock(ctx context.Context) error {
	path := pathTo("/v1/inventory/%s", samplePiece)

	if _, err := v.read(ctx, path); !isMissing(err) {
		return err
	}

	return v.put(ctx, path, map[string]any{"available": 10})
}

// put sends a request that a repeat does not do again.
func (v *visit) put(ctx context.Context, path string, content any) error {
	body, err := json.Marshal(content)
	if err != nil {
		return err
	}

	header := http.Header{"Content-Type": {"application/json"}, api.ReasonHeader: {sampleReason}}

	answer := v.ask(ctx, http.MethodPut, path, header, body)
	if answer.err == nil && answer.status/100 != 2 {
		return answer.problem(path)
	}

	return answer.err
}
