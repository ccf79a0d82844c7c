package api

import (
	"github.com/danielgtaylor/huma/v2"
)

// routes registers every operation, resource by resource.
func (s *service) routes(h huma.API) {
	s.healthRoutes(h)
	s.orderRoutes(h)
	s.transitionRoutes(h)
	s.editRoutes(h)
	s.watchRoutes(h)
	s.inventoryRoutes(h)
	s.actionRoutes(h)
	s.claimRoutes(h)
	s.accountRoutes(h)
	s.transferRoutes(h)
	s.paymentRoutes(h)
	s.parkedRoutes(h)
	s.deadLetterRoutes(h)
}
