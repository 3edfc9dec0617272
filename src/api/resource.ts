// The resource table: one description per operation of the API, from which its route, its part of the OpenAPI document, its command
// and its method of the client are derived.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import type { TokenScope } from '../db/tokens.ts'
import { GatewayError } from '../lib/errors.ts'
import { readBody } from '../lib/index.ts'
import type { Fields, Json, JsonObject } from '../lib/json-value.ts'
import { admitCallerWithScopes } from './admin-access.ts'
import type { AppDeps } from './deps.ts'
import { identifyApiCaller } from './identify-caller.ts'

/** Who gets in. `owner`: a caller of the API, or a token with the scope own; they see what is theirs. */
export type RouteAudience = 'anybody' | 'caller' | 'owner' | 'operator' | 'channel'

export type NoQuery = z.ZodObject<Record<never, never>>
export type NoBody = z.ZodUndefined
type ParamSchemas = Readonly<Record<string, z.ZodType>>

/** Names in a path, such as `id` in `/admin/runs/:id`. */
export type PathParam<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | PathParam<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

export type OperationRequest<
  Path extends string = string,
  Params extends ParamSchemas = ParamSchemas,
  Query extends z.ZodType = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
> = {
  readonly deps: AppDeps
  readonly context: Context
  /** Below which the route stands: `/admin`, or that of the API. */
  readonly base: string
  readonly params: {
    readonly [Name in PathParam<Path>]: Name extends keyof Params ? z.output<Params[Name]> : string
  }
  readonly query: z.output<Query>
  readonly body: z.output<Body>
}

/** What a handler may answer: what its schema promises, in lists and objects that it need not copy. */
export type Answerable<Value> = Value extends readonly (infer Each)[]
  ? readonly Answerable<Each>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Answerable<Value[Key]> }
    : Value

export type Answer = {
  readonly what: string
  /** Without it: no body, or one that is no JSON. */
  readonly schema?: z.ZodType
  readonly example?: unknown
  /** Besides JSON, or in its place where there is no schema. */
  readonly mediaType?: string | undefined
}

export type RequestBody<Body extends z.ZodType = z.ZodType> = {
  readonly schema: Body
  readonly maxBytes: number
  /** What to send: told to a caller that sent something else. */
  readonly remedy: string
  readonly example?: unknown
  /** JSON without it; another one is read by the handler itself. */
  readonly mediaType?: string
}

/** One operation. `handle` answers what `output` says; `respond` is for streams, forms and protocols with an order of their own. */
export type ApiOperation<
  Path extends string = string,
  Params extends ParamSchemas = ParamSchemas,
  Query extends z.ZodType = z.ZodObject,
  Body extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
> = {
  readonly method: 'get' | 'post' | 'delete'
  /** As the router writes it; below both bases where owners have the operation too. */
  readonly path: Path
  /** Its name in the OpenAPI document, the same for ever. */
  readonly id: string
  readonly summary: string
  readonly about?: string
  /** Of its own, where they are not those of the resource. */
  readonly tag?: string
  readonly audience?: RouteAudience
  /** Tokens that open it as an operator's route: `admin` alone unless it says more. */
  readonly scopes?: readonly TokenScope[]
  /** Of names in the path; without it: an id. */
  readonly params?: Params
  readonly query?: Query
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: RequestBody<Body>
  readonly output?: Output
  /** What the answer is, in words, and one such. */
  readonly returns?: string
  readonly example?: unknown
  /** What it may answer with besides JSON. */
  readonly mediaType?: string
  /** Other answers than 200 with JSON. */
  readonly answers?: Readonly<Record<number, Answer>>
  /** Statuses of its problems, besides those that every route of its kind may have. */
  readonly problems?: readonly number[]
  handle?(
    request: OperationRequest<Path, Params, Query, Body>,
  ): Promise<Answerable<z.input<Output>> | Response> | Answerable<z.input<Output>> | Response
  respond?(deps: AppDeps, context: Context): Promise<Response> | Response
}

export function defineOperation<
  const Path extends string,
  Output extends z.ZodType,
  const Params extends ParamSchemas = Record<never, never>,
  Query extends z.ZodType = NoQuery,
  Body extends z.ZodType = NoBody,
>(given: ApiOperation<Path, Params, Query, Body, Output>): ApiOperation<Path, Params, Query, Body, Output> {
  return given
}

// biome-ignore lint/suspicious/noExplicitAny: a table holds operations of every input and output.
export type AnyOperation = ApiOperation<string, any, any, any, any>

/** No more than this: a constraint with the types of input in it would take the place of those that are left out. */
type OperationShape = Pick<AnyOperation, 'method' | 'id' | 'summary'>

export type Resource<
  Operations extends Readonly<Record<string, OperationShape>> = Readonly<Record<string, AnyOperation>>,
> = {
  /** Of the group of its commands, and of the client's methods in camel case. */
  readonly name: string
  readonly tag: string
  readonly audience: RouteAudience
  readonly operations: Operations
  /** Not everywhere: without what it needs there are no routes. */
  isServed?(deps: AppDeps): boolean
}

export function defineResource<const Operations extends Readonly<Record<string, OperationShape>>>(
  given: Resource<Operations>,
): Resource<Operations> {
  return given
}

// Operations that operators and owners have: the same code, for all and for one's own.

const adminBase = '/admin'
export const ownBase = '/api/v1/agent'

/** An operation where it stands: of those that owners have too there are two. */
export type ServedOperation = AnyOperation & {
  readonly name: string
  readonly tag: string
  readonly audience: RouteAudience
  readonly base: string
}

const absolutePath = /^\/(?:admin|api|storage|hooks|\.well-known)(?:\/|$)/

export function servedOperations({ tag, audience, operations }: Resource): readonly ServedOperation[] {
  return Object.entries(operations as Readonly<Record<string, AnyOperation>>).flatMap(
    ([name, each]): readonly ServedOperation[] => {
      const own = each.audience ?? audience
      if (own !== 'owner' || absolutePath.test(each.path))
        return [{ ...each, name, tag: each.tag ?? tag, audience: own, base: own === 'owner' ? ownBase : adminBase }]
      return [
        {
          ...each,
          name,
          tag: 'Operator: what waits',
          audience: 'operator',
          base: adminBase,
          path: `${adminBase}${each.path}`,
          id: `any${each.id}`,
        },
        { ...each, name, tag, audience: 'owner', base: ownBase, path: `${ownBase}${each.path}`, id: `own${each.id}` },
      ]
    },
  )
}

/** A route per operation: token and scope, then the input by its schemas, then the handler. */
export function addResourceRoutes(app: Hono, deps: AppDeps, resource: Resource): void {
  if (resource.isServed?.(deps) === false) return
  for (const served of servedOperations(resource)) {
    const { method, path, audience, scopes = ['admin'], handle, respond } = served
    app.on(method.toUpperCase(), path, async (context) => {
      // /metrics judges its caller itself: it may be public.
      if (audience === 'operator' && path.startsWith(adminBase)) admitCallerWithScopes(context, scopes)
      if (respond !== undefined) return respond(deps, context)
      if (audience === 'caller') {
        const caller = await identifyApiCaller(deps, context)
        if (caller instanceof Response) return caller
      }
      if (handle === undefined) throw new TypeError(`${served.id} has no handler`)
      const request = { deps, context, base: served.base, ...(await readOperationInput(context, served)) }
      const answer = await handle(request)
      return answer instanceof Response ? answer : context.json(answer)
    })
  }
}

// Input is refused by the name of the field that does not fit.

async function readOperationInput(context: Context, { path, params = {}, query, body }: ServedOperation) {
  const names = pathParams(path)
  const inPath = Object.fromEntries(
    names.map((name) => [name, parsePathParam(name, params[name] ?? idSchema, context.req.param(name) ?? '')]),
  )
  return {
    params: inPath,
    query: query === undefined ? {} : readQuery(query, context.req.query()),
    body: body === undefined ? undefined : await readJsonBody(context, body),
  }
}

export function pathParams(path: string): readonly string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
}

function parsePathParam(name: string, schema: z.ZodType, value: string): unknown {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new GatewayError('bad_request', issueText({ ...firstIssue(parsed.error), path: [name] }))
}

function readQuery<Query extends z.ZodType>(query: Query, given: Readonly<Record<string, string>>): z.output<Query> {
  const parsed = query.safeParse(given)
  if (parsed.success) return parsed.data
  throw new GatewayError('bad_request', issueText(firstIssue(parsed.error)))
}

function firstIssue({ issues }: z.ZodError): z.core.$ZodIssue {
  const [issue] = issues
  if (issue === undefined) throw new TypeError('an error without an issue')
  return issue
}

/** `limit must be a whole number from 1 to 500`: the field, and what it must be. */
export function issueText(issue: z.core.$ZodIssue, nameOf: (field: string) => string = (field) => field): string {
  const field = nameOf(issue.path.map(String).join('.') || 'the query')
  if (issue.code === 'invalid_value') return `${field} must be one of ${issue.values.map(String).join(', ')}`
  return issue.message.startsWith('must ') ? `${field} ${issue.message}` : `${field} does not fit: ${issue.message}`
}

const jsonType = /^application\/(?:[\w.-]+\+)?json(?:\s*;|\s*$)/i

/** A page can have a browser send any other type without asking first, so this is a guard and not pedantry. */
export function isJsonType(contentType: string | undefined): boolean {
  return jsonType.test(contentType?.trim() ?? '')
}

async function readJsonBody<Body extends z.ZodType>(
  context: Context,
  { schema, maxBytes, remedy }: Pick<RequestBody<Body>, 'schema' | 'maxBytes' | 'remedy'>,
): Promise<z.output<Body>> {
  const bytes = await readBody(context.req.raw, maxBytes)
  if (bytes === undefined) throw new GatewayError('bad_request', `send at most ${maxBytes} bytes`)
  if (bytes.length > 0 && !isJsonType(context.req.header('content-type')))
    throw new GatewayError('unsupported_media_type', `send Content-Type: application/json; ${remedy}`)
  let given: unknown
  try {
    given = JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    // Told below: no schema takes it.
  }
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  throw new GatewayError('bad_request', `${parsed.error.issues[0]?.path.join('.') || 'body'} does not fit; ${remedy}`)
}

// Fields that many operations have.

export const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
export const idSchema = z.string().regex(idPattern, 'must be a UUID as the lists show it')

export const instantSchema = z
  .string()
  .meta({ description: 'An instant, ISO 8601 with a zone', examples: ['2026-01-31T08:00:00.000Z'] })

export function wholeNumberSchema(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`
  return z.coerce.number<string | number>({ error }).int({ error }).min(min, { error }).max(max, { error })
}

/** A page of a list whose ids sort by time. */
export const idPageQuerySchema = (max = 500) =>
  z.object({
    limit: wholeNumberSchema(1, max)
      .default(50)
      .meta({ description: `Lines per page, 1 to ${max}` }),
    before: idSchema.optional().meta({ description: 'Where the page before this one ended: its next' }),
  })

/** A page of a list that is numbered. */
export const seqPageQuery = z.object({
  limit: wholeNumberSchema(1, 500).default(50).meta({ description: 'Lines per page, 1 to 500' }),
  before: wholeNumberSchema(1, Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ description: 'Where the page before this one ended: its next' }),
  connection: z.string().optional().meta({ description: 'Only this one, as parley stats names it' }),
})

/** JSON of which we promise no more than that. */
export const jsonObjectSchema = z.record(z.string(), z.json()) as unknown as z.ZodType<JsonObject>
/** The same, where our own types say less. */
export const fieldsSchema = jsonObjectSchema as unknown as z.ZodType<Fields>
export const jsonValueSchema = z.json() as unknown as z.ZodType<Json>

export const doneSchema = z.object({ ok: z.literal(true) })
export const done = { ok: true } as const

/** What `before` must be for the page after this one; null on the last. */
export const nextId = z.string().nullable().meta({ description: 'before of the next page; null on the last' })
export const nextSeq = z.number().int().nullable().meta({ description: 'before of the next page; null on the last' })

export function createNextPageMark<Row, Mark>(
  rows: readonly Row[],
  limit: number,
  markOf: (row: Row) => Mark,
): Mark | null {
  const last = rows.at(-1)
  return last === undefined || rows.length < limit ? null : markOf(last)
}

// What an operation takes and gives, for those who call it: the command line and the client.

type InputOfSchema<Schema> = Schema extends z.ZodType ? z.input<Schema> : never

type BodyInput<Operation> = Operation extends { readonly body?: infer Body }
  ? NonNullable<Body> extends { readonly schema: infer Schema }
    ? [InputOfSchema<Schema>] extends [undefined]
      ? unknown
      : InputOfSchema<Schema>
    : unknown
  : unknown

type QueryInput<Operation> = Operation extends { readonly query?: infer Query }
  ? string extends keyof InputOfSchema<NonNullable<Query>>
    ? unknown
    : InputOfSchema<NonNullable<Query>>
  : unknown

/** Fields of the query or of the body: no operation has both. */
export type OperationFields<Operation> = QueryInput<Operation> & BodyInput<Operation>

export type OperationOutput<Operation> = Operation extends { readonly output?: infer Output }
  ? NonNullable<Output> extends z.ZodType
    ? z.output<NonNullable<Output>>
    : never
  : never

export type OperationPath<Operation> = Operation extends { readonly path: infer Path extends string } ? Path : never

/** Names in the path, and the fields. */
export type OperationInput<Operation> = {
  readonly [Name in PathParam<OperationPath<Operation>>]: string
} & OperationFields<Operation>

export type BuiltRequest = { readonly method: 'GET' | 'POST' | 'DELETE'; readonly path: string; readonly body?: object }

/** As an operator asks it. */
export function buildOperationRequest(operation: AnyOperation, input: Readonly<Record<string, unknown>>): BuiltRequest {
  const { method, path, audience, body } = operation
  const names = pathParams(path)
  const base = absolutePath.test(path) || audience === 'anybody' ? '' : adminBase
  const named = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(input[name])))
  const fields = Object.entries(input).filter(([name, value]) => !names.includes(name) && value !== undefined)
  const verb = method.toUpperCase() as BuiltRequest['method']
  if (body !== undefined) return { method: verb, path: `${base}${named}`, body: Object.fromEntries(fields) }
  const query = new URLSearchParams(fields.map(([name, value]) => [name, String(value)])).toString()
  return { method: verb, path: `${base}${named}${query === '' ? '' : `?${query}`}` }
}
