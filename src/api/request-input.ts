// Input of requests: ids, pages of lists, and JSON bodies.
import type { Context } from 'hono'
import type * as z from 'zod'
import { GatewayError } from '../contract/index.ts'
import { readBody } from '../lib/index.ts'

const pageSize = 50
const maxPageSize = 500
export const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function wholeNumberParam(name: string, text: string, max: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= 1 && value <= max) return value
  throw new GatewayError('bad_request', `${name} must be a whole number from 1 to ${max}`)
}

export function idParam(context: Context): string {
  return requireId(context.req.param('id') ?? '')
}

function requireId(id: string): string {
  if (!idPattern.test(id)) throw new GatewayError('bad_request', 'the id must be a UUID as the lists show it')
  return id
}

export function limitParam(context: Context, max = maxPageSize): number {
  const limit = context.req.query('limit')
  return limit === undefined ? pageSize : wholeNumberParam('limit', limit, max)
}

export type IdPage = { readonly limit: number; readonly before: string | null }

/** For lists whose ids sort by time. */
export function readIdPage(context: Context, max = maxPageSize): IdPage {
  const before = context.req.query('before')
  return { limit: limitParam(context, max), before: before === undefined ? null : requireId(before) }
}

/** What `before` must be for the page after this one; null on the last. */
export function nextPageMark<Row, Mark>(rows: readonly Row[], limit: number, markOf: (row: Row) => Mark): Mark | null {
  const last = rows.at(-1)
  return last === undefined || rows.length < limit ? null : markOf(last)
}

/** One of a closed list of words; null: not asked for. */
export function choiceParam<Word extends string>(context: Context, name: string, known: readonly Word[]): Word | null {
  const given = context.req.query(name)
  if (given === undefined) return null
  const word = known.find((each) => each === given)
  if (word === undefined) throw new GatewayError('bad_request', `${name} must be one of ${known.join(', ')}`)
  return word
}

// A body is bounded, JSON, of one shape. It is refused with what to send instead.

export type BodyShape<Schema extends z.ZodType> = {
  readonly schema: Schema
  readonly maxBytes: number
  /** What to send: told to a caller that sent something else. */
  readonly remedy: string
}

const jsonType = /^application\/(?:[\w.-]+\+)?json(?:\s*;|\s*$)/i

/** A page can have a browser send any other type without asking first, so this is a guard and not pedantry. */
export function isJsonType(contentType: string | undefined): boolean {
  return jsonType.test(contentType?.trim() ?? '')
}

export async function readJsonRequest<Schema extends z.ZodType>(
  context: Context,
  { schema, maxBytes, remedy }: BodyShape<Schema>,
): Promise<z.output<Schema>> {
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
