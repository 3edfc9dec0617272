// A client's fetch into a test app that holds every exchange to the document: what is sent fits, and so does what is answered.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { DocumentedOperation, OpenApi } from '../../src/api/openapi/document.ts'

type Ask = (path: string, init: RequestInit) => Promise<Response>

export type DocumentedFetch = {
  readonly fetch: typeof fetch
  /** Operations that were asked for, by their ids. */
  readonly used: ReadonlySet<string>
}

export async function documentedFetch(ask: Ask): Promise<DocumentedFetch> {
  const document: OpenApi = await (await ask('/openapi.json', {})).json()
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ ...document, $id: 'openapi' })
  const used = new Set<string>()
  const compile = (schema: object): ValidateFunction =>
    ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components')))
  const require = (what: string, schema: object | undefined, value: unknown): void => {
    if (schema === undefined) throw new Error(`${what} is not in the document`)
    const fits = compile(schema)
    if (!fits(value)) throw new Error(`${what} does not fit: ${ajv.errorsText(fits.errors)}`)
  }
  return {
    used,
    fetch: async (input, init = {}) => {
      const { pathname, search } = new URL(String(input))
      const method = (init.method ?? 'GET').toLowerCase()
      const operation = operationAt(document, method, pathname)
      if (operation === undefined) throw new Error(`${method} ${pathname} is not in the document`)
      used.add(operation.operationId)
      if (typeof init.body === 'string')
        require(`the body of ${operation.operationId}`, operation.requestBody?.content['application/json']
          ?.schema, JSON.parse(init.body))
      const response = await ask(`${pathname}${search}`, init)
      const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? ''
      const answer = operation.responses[response.status]
      const content = answer?.$ref === undefined ? answer?.content : problemIn(document, answer.$ref)
      if (type.endsWith('json'))
        require(`${response.status} of ${operation.operationId}`, content?.[type]?.schema, await response
          .clone()
          .json())
      return response
    },
  }
}

function operationAt({ paths }: OpenApi, method: string, pathname: string): DocumentedOperation | undefined {
  const fits = (path: string): boolean => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname)
  const found = Object.keys(paths)
    .filter(fits)
    .toSorted((one, other) => one.split('{').length - other.split('{').length)
  return found.map((path) => paths[path]?.[method]).find((operation) => operation !== undefined)
}

function problemIn(document: OpenApi, reference: string): Readonly<Record<string, { readonly schema?: object }>> {
  const name = reference.replace('#/components/responses/', '')
  return (document.components.responses[name] as { content: Record<string, { schema: object }> }).content
}
