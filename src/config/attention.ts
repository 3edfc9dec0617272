// How agents listen in rooms: a section of a connection's configuration.
import * as z from 'zod'
import type { ConnectionConfig } from '../contract/index.ts'
import type { Attention } from '../identity/routing/attention.ts'

const modes = ['always', 'mention', 'thread', 'ambient'] as const
const modeSchema = z.enum(modes, `must be one of ${modes.join(', ')}`)

const attentionSchema = z.strictObject({
  mode: modeSchema.default('mention'),
  places: z.record(z.string().min(1), modeSchema).default({}),
})

export function readAttention(
  { id, attention }: Pick<ConnectionConfig, 'id' | 'attention'>,
  problems: string[],
): Attention {
  const parsed = attentionSchema.safeParse(attention ?? {})
  for (const { path, message } of parsed.error?.issues ?? [])
    problems.push(`connection "${id}": ${['attention', ...path].join('.')}: ${message}`)
  const { mode, places } = parsed.data ?? attentionSchema.parse({})
  return { mode, places: new Map(Object.entries(places)) }
}
