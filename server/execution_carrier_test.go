package server_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"ratchet/server"
	"ratchet/shipping"
	"ratchet/shipping/reports"
	"ratchet/workflow"
)

// TestAWarehouseIsAnExecutionPerShipment: with the setting `carrier: execution:ARN`, the reaction to a
// paid order starts one execution of that state machine, and the warehouse's reports move the order.
func TestAWarehouseIsAnExecutionPerShipment(t *testing.T) {
	const arn = "arn:aws:states:us-east-1:000000000000:stateMachine:warehouse"

	s := newStockedBackend(t, func(c *server.Config) { c.Carrier = "execution:" + arn })

	if _, err := s.SFN.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("warehouse"), RoleArn: aws.String("arn:aws:iam::000000000000:role/any"), Definition: aws.String(`{"StartAt":"Which","States":{
			"Which":{"Type":"Choice","Choices":[{"Variable":"$.canceled","BooleanEquals":true,"Next":"Left"}],"Default":"Pack"},
			"Pack":{"Type":"Wait","Seconds":86400,"Next":"Left"},
			"Left":{"Type":"Succeed"}}}`),
	}); err != nil {
		t.Fatal(err)
	}
	s.env.Execute(mug)

	var shipments []sfntypes.ExecutionListItem
	s.env.Wait("the shipment's execution", func() (bool, string, error) {
		out, err := s.SFN.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: aws.String(arn)})
		if err != nil {
			return false, "", err
		}
		shipments = out.Executions

		return len(shipments) > 0, "", nil
	})

	started, err := s.SFN.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: shipments[0].ExecutionArn})
	if err != nil || len(shipments) != 1 || !strings.Contains(*started.Input, `"orderId":"o-1","canceled":false`) {
		t.Fatalf("%d executions, %+v, %v", len(shipments), started, err)
	}

	for _, m := range []shipping.Milestone{shipping.Shipped, shipping.Delivered} {
		r := shipping.Report{ID: "w/" + string(m), Shipment: effectKey(t, s.Orders, "o-1", 2, shipping.Effect), OrderID: "o-1", Milestone: m}
		if effect, err := s.Reports.Receive(t.Context(), r); err != nil || effect != reports.Applied {
			t.Errorf("%s: %s, %v", m, effect, err)
		}
	}
	s.until(workflow.Delivered)
}
