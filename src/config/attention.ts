// How agents listen in rooms: a section of a connection's configuration.
import * as z from 'zod'
import type { ConnectionConfig } from '../contract/index.ts'
import type { Attention } from '../identity/routing/attention.ts'

const modes = ['always', 'mention', 'thread', 'ambient'] as const
const modeSchema = z.enum(modes, `must be one of ${modes.join(', ')}`)

/** What an agent is shown is read by its model every time: a room must not become the larger part of it. */
const maxRemembered = 100

const attentionSchema = z.strictObject({
  mode: modeSchema.default('mention'),
  places: z.record(z.string().min(1), modeSchema).default({}),
  remember: z.number().int().min(0).max(maxRemembered).optional(),
})

export function readAttention(
  { id, attention, consent }: Pick<ConnectionConfig, 'id' | 'attention' | 'consent'>,
  problems: string[],
): Attention {
  const parsed = attentionSchema.safeParse(attention ?? {})
  for (const { path, message } of parsed.error?.issues ?? [])
    problems.push(`connection "${id}": ${['attention', ...path].join('.')}: ${message}`)
  const { mode, places, remember } = parsed.data ?? attentionSchema.parse({})
  // Those who talk among themselves have agreed to nothing; only the operator can answer for it.
  if (remember !== undefined && remember > 0 && consent === undefined)
    problems.push(`connection "${id}": attention.remember needs consent: { storeTranscript: 'the ground, in words' }`)
  return { mode, places: new Map(Object.entries(places)), remember }
}
