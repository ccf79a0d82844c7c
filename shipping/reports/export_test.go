package reports

// Names for the tests of package reports_test, beside the exported ones.

var ParcelAmount = parcelAmount
var RefundStep = refundStep
