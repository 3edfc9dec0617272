// What the routes of things that wait have in common: whose they are, page by page, and the body that decides.
import type { Context } from 'hono'
import type * as z from 'zod'
import type { Resolver } from '../agent/approvals/pending-action-store.ts'
import { GatewayError } from '../contract/index.ts'
import { keptCaller } from './admin-token.ts'
import { actorIn } from './note-act.ts'
import { readBody } from './read-body.ts'

const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const pageSize = 50
const maxPageSize = 500

/** An operator decides about all, a person about what is theirs. Who it is says the token, and nothing in the request. */
export function resolverOf(context: Context, tenant: string): Resolver {
  const caller = keptCaller(context)
  const owner = caller.kind === 'operator' ? null : caller.principal
  return { name: actorIn(context), isOperator: owner === null, scope: { tenant, conversationId: null, owner } }
}

export function pageOf(context: Context): { readonly limit: number; readonly before: string | null } {
  const { limit, before } = context.req.query()
  const size = limit === undefined ? pageSize : Number(limit)
  if (!Number.isInteger(size) || size < 1 || size > maxPageSize)
    throw new GatewayError('bad_request', `limit must be a whole number from 1 to ${maxPageSize}`)
  return { limit: size, before: before === undefined ? null : requireId(before) }
}

export function statusOf<Status extends string>(context: Context, known: readonly Status[]): Status | null {
  const given = context.req.query('status')
  if (given === undefined) return null
  const status = known.find((each) => each === given)
  if (status === undefined) throw new GatewayError('bad_request', `status must be one of ${known.join(', ')}`)
  return status
}

export function idOf(context: Context): string {
  return requireId(context.req.param('id') ?? '')
}

export async function bodyOf<Schema extends z.ZodType>(
  context: Context,
  schema: Schema,
  { maxBytes, remedy }: { readonly maxBytes: number; readonly remedy: string },
): Promise<z.output<Schema>> {
  const bytes = await readBody(context.req.raw, maxBytes)
  if (bytes === undefined) throw new GatewayError('bad_request', `send at most ${maxBytes} bytes`)
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

function requireId(id: string): string {
  if (!idPattern.test(id)) throw new GatewayError('bad_request', 'the id must be a UUID as the lists show it')
  return id
}
