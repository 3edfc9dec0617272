// GET /openapi.json and GET /docs/api: the API of this gateway, for programs and for people.
import type { Hono } from 'hono'
import * as z from 'zod'
import { LruMap } from '../lib/index.ts'
import { escapeHtml } from '../markdown/html.ts'
import { documentedRoutesOfAdapters } from './channel-routes.ts'
import type { AppDeps } from './deps.ts'
import { listKnownProblems } from './http-answers.ts'
import {
  type DocumentedOperation,
  type DocumentedRoute,
  type OpenApi,
  openApiDocument,
  type Parameter,
  type Schema,
  toDocumentedRoute,
} from './openapi/document.ts'
import { servedOperations } from './resource.ts'
import { resources } from './resources.ts'

/** Of the API, not of the release: it grows, and what is there stays. */
const version = '1'
/** Names of this gateway for which the document is kept. */
const maxTexts = 8

const documentRoutes: readonly DocumentedRoute[] = [
  {
    method: 'get',
    path: '/openapi.json',
    id: 'getOpenApi',
    tag: 'About the gateway',
    audience: 'anybody',
    summary: 'This document',
    answers: { 200: { what: 'OpenAPI 3.1', schema: z.looseObject({ openapi: z.string() }) } },
  },
  {
    method: 'get',
    path: '/docs/api',
    id: 'readApiPage',
    tag: 'About the gateway',
    audience: 'anybody',
    summary: 'This document, for people',
    answers: { 200: { what: 'A page', mediaType: 'text/html' } },
  },
]

export function addOpenApiRoutes(app: Hono, deps: AppDeps): void {
  // Made once: it takes tens of milliseconds, and every client may ask for it.
  let made: OpenApi | undefined
  const texts = new LruMap<string, string>(maxTexts)
  let page: string | undefined
  const buildOpenApiDocument = (): OpenApi => {
    const served = resources.filter(({ isServed }) => isServed?.(deps) !== false)
    const operations = [
      ...documentedRoutesOfAdapters(deps.gateway.connections.map(({ adapter }) => adapter)),
      ...served.flatMap(servedOperations).map(toDocumentedRoute),
      ...documentRoutes,
    ]
    return openApiDocument(operations, { url: '', version })
  }
  /** `asked`: whatever a caller wrote as the name of this gateway. */
  const openApiTextForOrigin = (asked: string): string => {
    const url = new URL(asked).origin
    made ??= buildOpenApiDocument()
    const text = texts.get(url) ?? JSON.stringify({ ...made, servers: [{ url }] })
    texts.set(url, text)
    return text
  }
  app.get('/openapi.json', (context) =>
    context.body(openApiTextForOrigin(context.req.url), 200, { 'content-type': 'application/json' }),
  )
  app.get('/docs/api', (context) => {
    made ??= buildOpenApiDocument()
    page ??= openApiHtmlPage(made)
    return context.html(page, 200, {
      // Nothing on it runs or is fetched from elsewhere.
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
      'x-content-type-options': 'nosniff',
    })
  })
}

// The document as one page for people: plain HTML, nothing to fetch, nothing to run.

const style = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --mark: #2563eb; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1.5rem; overflow-wrap: anywhere; }
h1 { margin-bottom: 0; } h2 { margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--line); }
nav ul { columns: 2 18rem; padding-left: 1.2rem; } a { color: var(--mark); }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; }
summary { padding: .5rem .75rem; cursor: pointer; display: flex; gap: .75rem; flex-wrap: wrap; align-items: baseline; }
details > div { padding: 0 .75rem .75rem; } code, pre { font: 14px/1.45 ui-monospace, monospace; }
pre { background: var(--soft); padding: .75rem; border-radius: .4rem; overflow-x: auto; white-space: pre-wrap; }
.verb { font-weight: 600; min-width: 4.5ch; } .who { margin-left: auto; opacity: .75; font-size: .85em; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .25rem .5rem; border-top: 1px solid var(--line); vertical-align: top; }
@media (max-width: 40rem) { .who { margin-left: 0; width: 100%; } }
`

function openApiHtmlPage(document: OpenApi): string {
  const { info, tags, paths, components } = document
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const sections = tags.map(({ name }) => {
    const own = all.filter(({ operation }) => operation.tags.includes(name))
    return `<h2 id="${sectionAnchor(name)}">${escapeHtml(name)}</h2>${own.map(({ path, method, operation }) => operationHtml(path, method, operation)).join('')}`
  })
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<details id="schema-${escapeHtml(name)}"><summary><code>${escapeHtml(name)}</code></summary><div><pre>${escapeHtml(JSON.stringify(schema, null, 2))}</pre></div></details>`,
  )
  const codes = listKnownProblems().map(
    ([code, status, remedy]) =>
      `<tr id="${escapeHtml(code)}"><td><code>${escapeHtml(code)}</code></td><td>${status}</td><td>${escapeHtml(remedy)}</td></tr>`,
  )
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(info.title)} API</title><style>${style}</style></head><body>
<h1>${escapeHtml(info.title)} API</h1><p>${escapeHtml(info.description)} As a document: <a href="/openapi.json">openapi.json</a>.</p>
<nav><ul>${[...tags.map(({ name }) => name), 'Errors', 'Schemas'].map((name) => `<li><a href="#${sectionAnchor(name)}">${escapeHtml(name)}</a></li>`).join('')}</ul></nav>
${sections.join('\n')}
<h2 id="${sectionAnchor('Errors')}">Errors</h2><table><tr><th>code</th><th>status</th><th>what to do</th></tr>${codes.join('')}</table>
<h2 id="${sectionAnchor('Schemas')}">Schemas</h2>${schemas.join('')}
</body></html>`
}

function operationHtml(path: string, method: string, operation: DocumentedOperation): string {
  const { operationId, summary, description, parameters = [], requestBody, responses, security } = operation
  const body = Object.entries(requestBody?.content ?? {}).map(
    ([media, { schema, example }]) =>
      `<h4>Send <code>${escapeHtml(media)}</code></h4>${exampleHtml(example)}${schemaHtml(schema)}`,
  )
  const answers = Object.entries(responses).map(([status, { description: what, content = {}, $ref }]) => {
    const bodies = Object.entries(content).map(
      ([media, { schema, example }]) =>
        `<div><code>${escapeHtml(media)}</code> ${exampleHtml(example)}${schemaHtml(schema)}</div>`,
    )
    return `<tr><td>${escapeHtml(status)}</td><td>${escapeHtml($ref === undefined ? (what ?? '') : 'a problem')}${bodies.join('')}</td></tr>`
  })
  return `<details id="${escapeHtml(operationId)}"><summary><span class="verb">${method.toUpperCase()}</span><code>${escapeHtml(path)}</code><span>${escapeHtml(summary)}</span><span class="who">${escapeHtml(securityText(security))}</span></summary><div>
${description === undefined ? '' : `<p>${escapeHtml(description)}</p>`}${parametersHtml(parameters)}${body.join('')}
<h4>Answers</h4><table>${answers.join('')}</table></div></details>`
}

function securityText(security: readonly Schema[]): string {
  const scopes = security.flatMap((each) => (Array.isArray(each['token']) ? each['token'] : []))
  if (scopes.length === 0) return 'no token'
  return `token: ${scopes.join(' or ')}${security.some((each) => Object.keys(each).length === 0) ? ', or the local user' : ''}`
}

function parametersHtml(parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(
    ({ name, in: place, required, description = '', schema }) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(place)}${required ? ', required' : ''}</td><td>${escapeHtml(description)} ${schemaHtml(schema)}</td></tr>`,
  )
  return `<table>${rows.join('')}</table>`
}

function schemaHtml(schema: Schema | undefined): string {
  if (schema === undefined || Object.keys(schema).length === 0) return ''
  const name = typeof schema['$ref'] === 'string' ? schema['$ref'].replace('#/components/schemas/', '') : undefined
  if (name !== undefined) return `<a href="#schema-${escapeHtml(name)}">${escapeHtml(name)}</a>`
  if (schema['type'] !== 'object' && schema['anyOf'] === undefined)
    return `<code>${escapeHtml(JSON.stringify(schema))}</code>`
  return `<details><summary>Schema</summary><div><pre>${escapeHtml(JSON.stringify(schema, null, 2))}</pre></div></details>`
}

function exampleHtml(example: unknown): string {
  return example === undefined ? '' : `<p>For example:</p><pre>${escapeHtml(JSON.stringify(example, null, 2))}</pre>`
}

function sectionAnchor(name: string): string {
  return `part-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`
}
