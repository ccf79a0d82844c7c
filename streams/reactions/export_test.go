package reactions

// What the tests of package reactions_test use beside the exported names.

const ParkedHandler = parkedHandler
const PaymentHandler = paymentHandler
const StockHandler = stockHandler
