package executions

const AcceptWithin = acceptWithin
