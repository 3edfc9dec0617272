// The body of an operator's request: bounded, JSON, of one shape. Refused with what to send instead.
import type { Context } from 'hono'
import type * as z from 'zod'
import { GatewayError } from '../contract/index.ts'
import { readBody } from '../lib/index.ts'

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
