package reports

// What the tests of package reports_test use beside the exported names.

var ParcelAmount = parcelAmount
var RefundStep = refundStep
