// The OpenAPI 3.1 document of this gateway's routes.

import * as z from 'zod'
import { problemSchema } from '../http-answers.ts'
import type { Answer, RequestBody, RouteAudience, ServedOperation } from '../resource.ts'

export type OpenApi = {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: {
    readonly schemas: Schema
    readonly responses: Schema
    readonly securitySchemes: Schema
  }
}

export type DocumentedOperation = {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required: true; readonly content: Content }
  readonly responses: Readonly<
    Record<string, { readonly description?: string; readonly content?: Content; readonly $ref?: string }>
  >
  readonly security: readonly Schema[]
}

export type Parameter = {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly description?: string
  readonly schema: Schema
}
type Content = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>

/** A route as the document tells of it. */
export type DocumentedRoute = {
  readonly method: string
  /** As the router writes it. */
  readonly path: string
  /** Its name in the document, the same for ever. */
  readonly id: string
  readonly tag: string
  readonly summary: string
  readonly about?: string
  readonly audience: RouteAudience
  readonly scopes?: readonly string[]
  /** What stands for the names in its path; without it: an id. */
  readonly params?: Readonly<Record<string, z.ZodType>>
  readonly query?: z.ZodType
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Pick<RequestBody, 'schema' | 'example' | 'mediaType'>
  readonly answers: Readonly<Record<number, Answer>>
  readonly problems?: readonly number[]
}

/** An operation of the table: what it answers becomes its 200. */
export function toDocumentedRoute(served: ServedOperation): DocumentedRoute {
  const { output, returns = 'What was asked for', example, mediaType, answers } = served
  const usual = output === undefined ? {} : { 200: { what: returns, schema: output, example, mediaType } }
  return { ...served, answers: { ...usual, ...answers } }
}

/** What every route of a kind may answer with. */
const usualStatuses: Readonly<Record<RouteAudience, readonly number[]>> = {
  anybody: [],
  channel: [400, 401, 403, 404, 413, 503],
  caller: [400, 401, 403, 429, 503],
  owner: [400, 401, 403, 429, 503],
  operator: [400, 401, 403, 503],
}

function routeSecurity({ audience, scopes = ['admin'] }: DocumentedRoute): readonly Schema[] {
  switch (audience) {
    case 'anybody':
    case 'channel':
      return []
    // Only this machine's own user needs no token.
    case 'caller':
      return [{ token: ['run'] }, {}]
    case 'owner':
      return [{ token: ['run'] }, { token: ['own'] }, {}]
    case 'operator':
      return scopes.map((scope) => ({ token: [scope] }))
  }
}

export type DocumentFacts = { readonly url: string; readonly version: string }

export function openApiDocument(operations: readonly DocumentedRoute[], { url, version }: DocumentFacts): OpenApi {
  const components = createSchemaComponents()
  const problem = components.add(problemSchema, 'output')
  const statuses = new Set<number>()
  const paths: Record<string, Record<string, DocumentedOperation>> = {}
  for (const operation of operations) {
    const path = toOpenApiPath(operation.path)
    paths[path] = { ...paths[path], [operation.method]: documentedOperation(operation, components, statuses) }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Parley',
      version,
      description:
        'Talks to agents and runs the gateway. Errors are problem details (RFC 9457) with a code, what to do, and a trace to ask by.',
    },
    servers: [{ url }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: components.all(),
      responses: Object.fromEntries(
        [...statuses].sort().map((status) => [
          `Problem${status}`,
          {
            description: `A problem with status ${status}`,
            content: { 'application/problem+json': { schema: problem } },
          },
        ]),
      ),
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'Made with parley tokens create --scope …' },
      },
    },
  }
}

/** `:id` as `{id}`; what follows a star has no name of its own. */
export function toOpenApiPath(path: string): string {
  // What a part of the path may look like is for the router alone.
  return path.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, '{$1}').replace(/\*$/, '{rest}')
}

function documentedOperation(
  operation: DocumentedRoute,
  components: Components,
  statuses: Set<number>,
): DocumentedOperation {
  const { id, tag, summary, about, audience, body, answers, problems = [] } = operation
  const troubles = [...new Set([...usualStatuses[audience], ...problems])]
  for (const status of troubles) statuses.add(status)
  const parameters = documentedParameters(operation, components)
  const media = body?.mediaType ?? 'application/json'
  const example = body?.example === undefined ? {} : { example: body.example }
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(about === undefined ? {} : { description: about }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { [media]: { schema: components.add(body.schema, 'input'), ...example } },
          },
        }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [status, documentedAnswer(answer, components)]),
      ),
      ...Object.fromEntries(troubles.map((status) => [status, { $ref: `#/components/responses/Problem${status}` }])),
    },
    security: routeSecurity(operation),
  }
}

function documentedAnswer({ what, schema, example, mediaType }: Answer, components: Components) {
  const content = {
    ...(schema === undefined
      ? {}
      : {
          'application/json': {
            schema: components.add(schema, 'output'),
            ...(example === undefined ? {} : { example }),
          },
        }),
    ...(mediaType === undefined ? {} : { [mediaType]: { schema: { type: 'string' } } }),
  }
  return { description: what, ...(Object.keys(content).length === 0 ? {} : { content }) }
}

function documentedParameters(
  { path, params = {}, query, headers = {} }: DocumentedRoute,
  components: Components,
): readonly Parameter[] {
  const names = [...toOpenApiPath(path).matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const inPath = names.map((name) => {
    const description = params[name === 'rest' ? '*' : name]?.meta()?.description ?? 'An id, as the lists show it'
    return { name, in: 'path', required: true, description, schema: { type: 'string' } }
  })
  const { properties = {}, required = [] } = (query === undefined ? {} : components.add(query, 'input')) as {
    readonly properties?: Readonly<Record<string, Schema>>
    readonly required?: readonly string[]
  }
  const inQuery = Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
    ...(typeof description === 'string' ? { description } : {}),
  }))
  const inHeader = Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }))
  return [...inPath, ...inQuery, ...inHeader]
}

// A schema with a name stands once among the components and is referred to.

export type Schema = { readonly [key: string]: unknown }

/** `input`: what may be sent. `output`: what is answered. */
export type Direction = 'input' | 'output'

type Components = {
  readonly add: (schema: z.ZodType, direction: Direction) => Schema
  readonly all: () => Schema
}

function createSchemaComponents(): Components {
  const named = new Map<string, Schema>()
  return {
    all: () => Object.fromEntries([...named].sort(([one], [other]) => (one < other ? -1 : 1))),
    add(schema, direction) {
      const {
        $schema: _dialect,
        $defs,
        id,
        ...rest
      } = z.toJSONSchema(schema, {
        io: direction,
        unrepresentable: 'any',
        // An answer may grow; only what is sent is closed.
        override: ({ jsonSchema }) => {
          if (direction === 'output' && jsonSchema.additionalProperties === false)
            delete jsonSchema.additionalProperties
        },
      }) as Schema & { readonly $defs?: Readonly<Record<string, Schema>>; readonly id?: string }
      const componentSchemaName = (name: string): string => (name.startsWith('__') ? 'Json' : name)
      for (const [name, { id: _id, ...part }] of Object.entries($defs ?? {}))
        named.set(componentSchemaName(name), withComponentRefs(part, componentSchemaName) as Schema)
      const whole = withComponentRefs(rest, componentSchemaName) as Schema
      if (typeof id !== 'string') return whole
      named.set(id, whole)
      return { $ref: `#/components/schemas/${id}` }
    },
  }
}

function withComponentRefs(value: unknown, local: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => withComponentRefs(each, local))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (key !== '$ref' || typeof inner !== 'string') return [key, withComponentRefs(inner, local)]
      return [key, `#/components/schemas/${local(inner.replace('#/$defs/', ''))}`]
    }),
  )
}
