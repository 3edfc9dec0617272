// An envelope of Socket Mode as the HTTP request Slack would have made of it: from here on there is one path for both.
import * as z from 'zod'
import type { JsonObject, RawRequest, TransportAnswer } from '../../../src/contract/index.ts'

const envelopeSchema = z.object({
  envelope_id: z.string().min(1),
  type: z.string(),
  payload: z.record(z.string(), z.unknown()).catch({}),
  accepts_response_payload: z.boolean().catch(false),
  retry_attempt: z.number().int().nonnegative().optional().catch(undefined),
  retry_reason: z.string().optional().catch(undefined),
})

export type Envelope = z.output<typeof envelopeSchema>

export type SocketMessage =
  | { readonly kind: 'hello' }
  /** The platform will close this connection soon and wants a new one. */
  | { readonly kind: 'disconnect' }
  | { readonly kind: 'envelope'; readonly envelope: Envelope }
  | { readonly kind: 'noise' }

export function parseSocketMessage(text: string): SocketMessage {
  const value = tryParseJson(text)
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined
  if (type === 'hello' || type === 'disconnect') return { kind: type }
  const envelope = envelopeSchema.safeParse(value)
  return envelope.success ? { kind: 'envelope', envelope: envelope.data } : { kind: 'noise' }
}

export function envelopeToRequest({
  type,
  payload,
  retry_attempt,
  retry_reason,
}: Envelope): Pick<RawRequest, 'bytes' | 'headers'> {
  const { text, contentType } = envelopeBody(type, payload)
  return {
    bytes: new TextEncoder().encode(text),
    headers: {
      'content-type': contentType,
      ...(retry_attempt === undefined ? {} : { 'x-slack-retry-num': String(retry_attempt) }),
      ...(retry_reason === undefined ? {} : { 'x-slack-retry-reason': retry_reason }),
    },
  }
}

type Body = { readonly text: string; readonly contentType: string }

const form = 'application/x-www-form-urlencoded'

function envelopeBody(type: string, payload: Readonly<Record<string, unknown>>): Body {
  if (type === 'interactive')
    return { text: new URLSearchParams({ payload: JSON.stringify(payload) }).toString(), contentType: form }
  if (type === 'slash_commands') {
    const fields = Object.entries(payload).map(([name, value]) => [name, formFieldValue(value)])
    return { text: new URLSearchParams(fields).toString(), contentType: form }
  }
  return { text: JSON.stringify(payload), contentType: 'application/json' }
}

/** What we send back, or undefined where it was not taken: then it must come again. */
export function envelopeAnswer(
  { envelope_id, accepts_response_payload }: Envelope,
  answer: TransportAnswer,
): string | undefined {
  if (answer.status < 200 || answer.status > 299) return undefined
  const payload = accepts_response_payload ? parseJsonObject(answer.body) : undefined
  return JSON.stringify(payload === undefined ? { envelope_id } : { envelope_id, payload })
}

function parseJsonObject(body: string | undefined): JsonObject | undefined {
  const value = body === undefined ? undefined : tryParseJson(body)
  // Parsed from text just now: whatever it holds is JSON.
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

function formFieldValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '')
}

function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
