// GET /openapi.json and GET /docs/api: what this gateway can be asked, for programs and for people.
import type { Hono } from 'hono'
import { hasTokenIssuers } from '../../identity/issuers/token-issuers.ts'
import type { AppDeps } from '../deps.ts'
import { adminOperations } from './admin.ts'
import { apiOperations, discoveryOperations, issuerOperations } from './api.ts'
import { channelOperations } from './channels.ts'
import { type OpenApi, openApiDocument } from './document.ts'
import { openApiHtmlPage } from './page.ts'
import { taskOperations } from './tasks.ts'

/** Of the API, not of the release: it grows, and what is there stays. */
const version = '1'
/** Names of this gateway for which the document is kept. */
const maxTexts = 8

export function addOpenApiRoutes(
  app: Hono,
  { gateway, tokenIssuers }: Pick<AppDeps, 'gateway' | 'tokenIssuers'>,
): void {
  // Made once: it takes tens of milliseconds, and every client may ask for it.
  let made: OpenApi | undefined
  const texts = new Map<string, string>()
  let page: string | undefined
  const makeDocument = (): OpenApi => {
    const adapters = gateway.connections.map(({ adapter }) => adapter)
    const issuers = tokenIssuers !== undefined && hasTokenIssuers(tokenIssuers) ? issuerOperations : []
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
  /** `asked`: whatever a caller wrote as the name of this gateway. */
  const textFor = (asked: string): string => {
    const url = new URL(asked).origin
    made ??= makeDocument()
    const text = texts.get(url) ?? JSON.stringify({ ...made, servers: [{ url }] })
    if (texts.size >= maxTexts) texts.clear()
    texts.set(url, text)
    return text
  }
  app.get('/openapi.json', (context) =>
    context.body(textFor(context.req.url), 200, { 'content-type': 'application/json' }),
  )
  app.get('/docs/api', (context) => {
    made ??= makeDocument()
    page ??= openApiHtmlPage(made)
    return context.html(page, 200, {
      // Nothing on it runs or is fetched from elsewhere.
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
      'x-content-type-options': 'nosniff',
    })
  })
}
