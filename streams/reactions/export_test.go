package reactions

// The unexported names that the tests of package reactions_test use.

const ParkedHandler = parkedHandler
const PaymentHandler = paymentHandler
const StockHandler = stockHandler
