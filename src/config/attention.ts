// How agents listen in rooms: a section of a connection's configuration.
import * as z from 'zod'
import type { AttentionMode, ConnectionConfig } from '../contract/index.ts'
import { type Attention, maxRemembered } from '../identity/routing/attention.ts'

const modes = ['always', 'mention', 'thread', 'ambient'] as const
const modeSchema = z.enum(modes, `must be one of ${modes.join(', ')}`)

const wholeUpTo = (most: number) =>
  z.number().int().min(1).max(most, `must be ${most} or less; false remembers nothing`)

const memorySchema = z.strictObject({
  messages: wholeUpTo(maxRemembered).default(20),
  minutes: wholeUpTo(7 * 24 * 60).default(60),
  bytes: wholeUpTo(256 * 1024).default(16 * 1024),
})

const attentionSchema = z.strictObject({
  mode: modeSchema.optional(),
  places: z.record(z.string().min(1), modeSchema).default({}),
  remember: z
    .union([z.literal(false), memorySchema], 'must be false, or how much: messages, minutes, bytes')
    .default(() => memorySchema.parse({})),
})

export function readAttention(
  { id, attention }: Pick<ConnectionConfig, 'id' | 'attention'>,
  problems: string[],
  usual: AttentionMode = 'mention',
): Attention {
  const parsed = attentionSchema.safeParse(attention ?? {})
  for (const { path, message } of parsed.error?.issues ?? [])
    problems.push(`connection "${id}": ${['attention', ...path].join('.')}: ${message}`)
  const { mode, places, remember } = parsed.data ?? attentionSchema.parse({})
  return {
    mode: mode ?? usual,
    places: new Map(Object.entries(places)),
    remember: remember === false ? null : remember,
  }
}
