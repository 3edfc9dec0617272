// The body of a task request as JSON, or as nothing: what is wrong with it is told once it is known who asks.
import type { Context } from 'hono'
import { parseBoundedJson, readBody } from '../../lib/index.ts'
import { isJsonType } from '../json-body.ts'

export type TaskBody =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'too_large' | 'other_type' }

export async function readTaskBody(context: Context, maxBytes: number): Promise<TaskBody> {
  const bytes = await readBody(context.req.raw, maxBytes)
  if (bytes === undefined) return { kind: 'too_large' }
  if (!isJsonType(context.req.header('content-type'))) return { kind: 'other_type' }
  const parsed = parseBoundedJson(bytes)
  return { kind: 'read', value: parsed.ok ? parsed.value : undefined }
}
