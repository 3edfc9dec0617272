// The app's own views in Slack: the agent's, and the older assistant's (docs.slack.dev/ai).
import * as z from 'zod'
import {
  wireLenient as mayList,
  type Reading,
  wireArray,
  wireLooseObject,
  wireUnknown,
} from '../../../src/lib/index.ts'
import { id, lenientField, optionalField, ts } from './field.ts'

export const assistantContextSchema = z.looseObject({ channel_id: lenientField(id), team_id: lenientField(id) })

export const threadOpenedSchema = z.looseObject({
  type: z.enum(['assistant_thread_started', 'assistant_thread_context_changed']),
  assistant_thread: z.looseObject({
    user_id: id,
    channel_id: id,
    thread_ts: ts,
    context: lenientField(assistantContextSchema),
  }),
})

export const homeOpenedSchema = z.looseObject({
  type: z.literal('app_home_opened'),
  user: id,
  channel: optionalField(id),
  tab: lenientField(z.string()),
})

/** What a message of the newer view says about what its sender looks at. */
export const readAppContext = wireLooseObject({ entities: mayList(wireArray(wireUnknown)) })

export const entitySchema = z.looseObject({
  type: z.string(),
  value: z.union([z.string().min(1).max(64), z.looseObject({ message_ts: ts, channel_id: id })]),
  team_id: lenientField(id),
})

export type ThreadOpened = z.infer<typeof threadOpenedSchema>
export type HomeOpened = z.infer<typeof homeOpenedSchema>
export type AppContext = Reading<typeof readAppContext>
export type AssistantContext = z.infer<typeof assistantContextSchema>
