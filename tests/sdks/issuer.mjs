// An OpenID Connect issuer: npm's oidc-provider, as a process. The arguments are its port, the audience of access tokens
// and the redirect address of the console. Each client of the list mints the tokens that its name says; persons log in
// with any name.
import { createRequire } from 'node:module'
import path from 'node:path'

const [port, audience, redirect] = process.argv.slice(2)
const require = createRequire(path.join(process.env.SDK, 'package.json'))
const { Provider } = await import(require.resolve('oidc-provider'))

// changes turn a good access token into one of another kind.
const changes = {
  good: () => {},
  scp: ({ payload }) => { payload.scp = payload.scope.split(' '); delete payload.scope },
  'in-another-case': ({ payload }) => { payload.Tenant = payload.tenant; delete payload.tenant },
  critical: ({ header }) => { header.crit = ['b64']; header.b64 = true },
  'security-event': ({ header }) => { header.typ = 'secevent+jwt' },
  bound: ({ payload }) => { payload.cnf = { jkt: 'x' } },
  'another-audience': ({ payload }) => { payload.aud = 'https://elsewhere.example' },
  'without-scope': ({ payload }) => { delete payload.scope },
}

const machine = (id) => ({ client_id: id, client_secret: 's3cret', grant_types: ['client_credentials'], redirect_uris: [], response_types: [] })

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    ...Object.keys(changes).map(machine),
    { client_id: 'console', client_secret: 's3cret', grant_types: ['authorization_code'], response_types: ['code'], application_type: 'native', token_endpoint_auth_method: 'client_secret_basic', redirect_uris: [redirect] },
  ],
  pkce: { required: () => true },
  cookies: { keys: ['of the test'] },
  features: {
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: async () => audience,
      useGrantedResource: async () => true,
      getResourceServerInfo: async () => ({ scope: 'ratchet:read ratchet:act ratchet:admin', audience, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }),
    },
  },
  extraTokenClaims: async () => ({ tenant: 'default' }),
  formats: { customizers: { jwt: async (_, token, parts) => { parts.header ??= {}; changes[token.clientId]?.(parts); if (token.clientId in changes) parts.payload.sub ??= token.clientId } } },
})

const server = provider.listen(port, '127.0.0.1', () => console.log(`ready at ${provider.issuer}`))
process.on('SIGINT', () => { server.closeAllConnections(); server.close() })
