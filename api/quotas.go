package api

import (
	"context"
	"maps"
	"math"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"ratchet/api/auth"
	"ratchet/workflow/plan"
)

func (s *service) quotaRoutes(h huma.API) {
	register(s, h, route{
		id:      "get-quotas",
		method:  http.MethodGet,
		path:    "/v1/quotas",
		tag:     "service",
		scope:   auth.Read,
		status:  http.StatusOK,
		summary: "Read the quotas and prices with which plans are computed",
		description: "The quotas are AWS's defaults for the Region of the service; those of us-east-1 if it does not run on AWS. The status of the system says " +
			"how much of them is used. Nothing is read.",
	}, s.getQuotas)
}

type defaultQuota struct {
	Name   string  `json:"name"`
	Quota  float64 `json:"quota" doc:"Per second, except that of open executions."`
	Source string  `json:"source" doc:"The page of AWS that has it."`
}

type unitPrice struct {
	Unit              string  `json:"unit" enum:"read unit,write unit,state transition"`
	DollarsPerMillion float64 `json:"dollarsPerMillion"`
	Source            string  `json:"source" doc:"The page of AWS that has it."`
}

type quotasOutput struct {
	Body struct {
		Quotas []defaultQuota `json:"quotas" doc:"By name."`
		Prices []unitPrice    `json:"prices" doc:"On demand in us-east-1, of November 2024."`
	}
}

func (s *service) getQuotas(context.Context, caller, *struct{}) (*quotasOutput, error) {
	quotas := s.cfg.Quotas
	if quotas == nil {
		quotas = plan.USEast1()
	}

	out := &quotasOutput{}
	for _, name := range slices.Sorted(maps.Keys(quotas)) {
		out.Body.Quotas = append(out.Body.Quotas, defaultQuota{name, quotas[name], plan.Source(name)})
	}

	for _, p := range plan.Prices() {
		// A price has no more digits.
		out.Body.Prices = append(out.Body.Prices, unitPrice{p.Unit, math.Round(p.DollarsPerMillion*1e6) / 1e6, p.Source})
	}

	return out, nil
}
