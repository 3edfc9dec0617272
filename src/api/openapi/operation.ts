// One operation of the OpenAPI document: its schemas are the ones the route reads requests with.
import type { Context } from 'hono'
import * as z from 'zod'
import { GatewayError } from '../../contract/index.ts'
import type { BodyShape } from '../request-input.ts'
import { doneSchema, pageQuerySchema } from '../schemas.ts'

/** Who gets in. `owner`: a caller of the API, or a token with the scope own; they see what is theirs. */
export type RouteAudience = 'anybody' | 'caller' | 'owner' | 'operator' | 'channel'

export type Answer = {
  readonly what: string
  /** Without it: no body, or one that is no JSON. */
  readonly schema?: z.ZodType
  readonly example?: unknown
  /** Besides JSON, or in its place where there is no schema. */
  readonly mediaType?: string
}

export type Operation = {
  readonly method: 'get' | 'post' | 'delete'
  /** As the router writes it. */
  readonly path: string
  /** Its name in the document, the same for ever. */
  readonly id: string
  readonly tag: string
  readonly summary: string
  readonly about?: string
  readonly opens: RouteAudience
  /** What stands for the names in its path; without it: an id. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: z.ZodObject
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Pick<BodyShape<z.ZodType>, 'schema'> & { readonly example?: unknown; readonly mediaType?: string }
  readonly answers: Readonly<Record<number, Answer>>
  /** Statuses of its problems, besides those that every route of its kind may have. */
  readonly problems?: readonly number[]
}

/** What an address asks for, read with the schema that the document shows. */
export function readQueryParams<Schema extends z.ZodObject>(
  context: Context,
  { query }: { readonly query: Schema },
): z.output<Schema> {
  const parsed = query.safeParse(context.req.query())
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new GatewayError('bad_request', `${issue?.path.join('.') || 'the query'} does not fit: ${issue?.message ?? ''}`)
}

export const rowsSchema = z.array(z.looseObject({}))
export const rowSchema = z.looseObject({})
export const seqPage = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(50),
  before: z.coerce.number().int().min(1).optional().meta({ description: 'The next of the page before' }),
  connection: z.string().optional().meta({ description: 'Only of this connection, as parley stats names it' }),
})
export const idPage = pageQuerySchema(500)
export const doneAnswers: Operation['answers'] = { 200: { what: 'Done', schema: doneSchema, example: { ok: true } } }

export const listAnswers = (name: string, more: Readonly<Record<string, z.ZodType>> = {}): Operation['answers'] => ({
  200: {
    what: 'A page, and where the next one begins',
    schema: z.object({ [name]: rowsSchema, next: z.union([z.string(), z.number()]).nullable(), ...more }),
  },
})
export const itemAnswers = (name: string, schema: z.ZodType = rowSchema): Operation['answers'] => ({
  200: { what: 'What was asked for', schema: z.object({ [name]: schema }) },
})

/** An operator's route without what all of them have. */
export type AdminRoute = Pick<Operation, 'method' | 'path' | 'id' | 'summary' | 'answers'> & Partial<Operation>
