// GET /openapi.json and GET /docs/api: what this gateway can be asked, for programs and for people.
import type { Hono } from 'hono'
import { hasIssuers } from '../../identity/issuers/protected-resource.ts'
import type { AppDeps } from '../deps.ts'
import { adminOperations } from './admin.ts'
import { apiOperations, discoveryOperations, issuerOperations } from './api.ts'
import { channelOperations } from './channels.ts'
import { type OpenApi, openApiDocument } from './document.ts'
import { apiPage } from './page.ts'
import { taskOperations } from './tasks.ts'

/** Of the API, not of the release: it grows, and what is there stays. */
const version = '1'

export function addOpenApiRoutes(
  app: Hono,
  { gateway, tokenIssuers }: Pick<AppDeps, 'gateway' | 'tokenIssuers'>,
): void {
  // Made once: it takes tens of milliseconds, and anybody may ask for it.
  let made: OpenApi | undefined
  let page: string | undefined
  const makeDocument = (): OpenApi => {
    const adapters = gateway.connections.map(({ adapter }) => adapter)
    const issuers = tokenIssuers !== undefined && hasIssuers(tokenIssuers) ? issuerOperations : []
    const operations = [
      ...channelOperations(adapters),
      ...apiOperations,
      ...issuers,
      ...(adapters.some(({ discovery }) => discovery !== undefined) ? discoveryOperations : []),
      ...taskOperations,
      ...adminOperations,
    ]
    return openApiDocument(operations, { url: '', version })
  }
  const documentFor = (url: string): OpenApi => {
    made ??= makeDocument()
    return { ...made, servers: [{ url: new URL(url).origin }] }
  }
  app.get('/openapi.json', (context) => context.json(documentFor(context.req.url)))
  app.get('/docs/api', (context) => {
    page ??= apiPage(documentFor(context.req.url))
    return context.html(page, 200, {
      // Nothing on it runs or is fetched from elsewhere.
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
      'x-content-type-options': 'nosniff',
    })
  })
}
