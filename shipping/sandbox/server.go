package sandbox

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"ratchet/internal/ids"
	"ratchet/notify/webhooks"
	"ratchet/shipping"
)

const (
	maxRequest = 16 << 10 // bytes of a request's body
	outageWait = "5"      // seconds, the Retry-After of an outage
)

// Handler serves the carrier over HTTP, as the document of package shipping/httpcarrier
// describes. Callers must send the token as a bearer token; an empty one means that none is needed.
// Get needs Config.Track.
func (c *Carrier) Handler(token string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /shipments/{id}", c.serveBook)
	mux.HandleFunc("POST /shipments/{id}/cancel", c.serveCancel)
	mux.HandleFunc("POST /shipments/{id}/hold", c.serveHold)
	mux.HandleFunc("GET /shipments/{id}", func(w http.ResponseWriter, r *http.Request) { c.serveShipment(w, r, shipmentOf(r)) })

	// Digests are compared, because all have the same length: a comparison of the tokens themselves
	// would reveal the length of the expected token.
	want := sha256.Sum256([]byte("Bearer " + token))

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if token != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 0 {
			refuse(w, http.StatusUnauthorized, "unauthenticated", "a bearer token is required")
			return
		}

		mux.ServeHTTP(w, r)
	})
}

// shipmentOf returns the key of the shipment that a request names.
func shipmentOf(r *http.Request) string { return strings.ReplaceAll(r.PathValue("id"), "~", "/") }

func (c *Carrier) serveBook(w http.ResponseWriter, r *http.Request) {
	var in struct{ OrderID string }
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&in)

	key := shipmentOf(r)
	switch {
	case err != nil || in.OrderID == "":
		refuse(w, http.StatusUnprocessableEntity, "invalid_request", "the body must be {\"orderId\": TEXT}")
		return
	case !strings.HasPrefix(key, ids.Encode(in.OrderID)+"/"):
		refuse(w, http.StatusUnprocessableEntity, "invalid_request", "the id must be ORDER~TRANSITION~shipping")
		return
	}

	tracking, err := c.Book(r.Context(), key, in.OrderID)
	if err != nil {
		fail(w, err)
		return
	}

	answer(w, shipping.Shipment{Status: shipping.Booked, Tracking: tracking})
}

func (c *Carrier) serveCancel(w http.ResponseWriter, r *http.Request) {
	left, err := c.Cancel(r.Context(), shipmentOf(r))
	switch {
	case err != nil:
		fail(w, err)
	// The document asks for the milestone of a parcel that has left.
	case left:
		c.serveShipment(w, r, shipmentOf(r))
	default:
		answer(w, shipping.Shipment{Status: shipping.Canceled})
	}
}

func (c *Carrier) serveHold(w http.ResponseWriter, r *http.Request) {
	var in struct {
		At   int64
		Held *bool
	}

	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&in)
	if err != nil || in.At < 1 || in.Held == nil {
		refuse(w, http.StatusUnprocessableEntity, "invalid_request", "the body must be {\"at\": NUMBER, \"held\": BOOLEAN}")
		return
	}

	left, err := c.Hold(r.Context(), shipmentOf(r), in.At, *in.Held)
	switch {
	case err != nil:
		fail(w, err)
	// The document asks for the milestone of a parcel that has left.
	case left:
		c.serveShipment(w, r, shipmentOf(r))
	default:
		answer(w, shipping.Shipment{Status: shipping.Booked})
	}
}

func (c *Carrier) serveShipment(w http.ResponseWriter, r *http.Request, key string) {
	s, err := c.Get(r.Context(), key)
	if err != nil {
		fail(w, err)
		return
	}

	answer(w, s)
}

func answer(w http.ResponseWriter, s shipping.Shipment) {
	w.Header().Set("Content-Type", "application/json")

	_ = json.NewEncoder(w).Encode(s) // an error: the caller has gone
}

// fail answers with an error of the carrier.
func fail(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, shipping.ErrCanceled):
		refuse(w, http.StatusConflict, "shipment_canceled", "the id is closed")
	case errors.Is(err, shipping.ErrUnknownShipment):
		refuse(w, http.StatusNotFound, "unknown_shipment", "there is no such shipment")
	default:
		w.Header().Set("Retry-After", outageWait)
		refuse(w, http.StatusServiceUnavailable, "unavailable", "the carrier is down")
	}
}

func refuse(w http.ResponseWriter, status int, code, detail string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)

	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "detail": detail}) // the caller has gone
}

// Callbacks returns a function for [Config.Deliver] that sends each report as a signed callback
// to the URL. 2xx accepts the report. 422 ends the reports of the shipment. After any other answer the
// carrier sends the report again.
func Callbacks(client *webhooks.Client, url string) DeliverFunc {
	return func(ctx context.Context, r shipping.Report) (shipping.Answer, error) {
		r.At = time.Now().UTC()

		body, err := json.Marshal(map[string]any{"type": "shipment." + string(r.Milestone), "timestamp": r.At, "data": r})
		if err != nil {
			return shipping.Rejected, err
		}

		// A report's id may have characters that the id of a message may not have.
		sum := sha256.Sum256([]byte(r.ID))
		err = client.Deliver(ctx, url, "rep_"+hex.EncodeToString(sum[:16]), body, nil)

		var refused *webhooks.StatusError
		if errors.As(err, &refused) && refused.Status == http.StatusUnprocessableEntity {
			// 422 is the shop's final answer; any other status may change.
			return shipping.Rejected, nil
		}

		return shipping.Accepted, err
	}
}
