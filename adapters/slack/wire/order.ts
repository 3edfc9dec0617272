// What Slack sends when a person presses a button or gives a command (docs.slack.dev/reference/interaction-payloads).
import * as z from 'zod'
import { id, lenient, ts } from './field.ts'

const personSchema = z.looseObject({ id, team_id: lenient(id), name: lenient(z.string().max(256)) })

export const interactionSchema = z.looseObject({
  type: z.string(),
  api_app_id: lenient(id),
  is_enterprise_install: lenient(z.boolean()),
  team: lenient(z.looseObject({ id: lenient(id), enterprise_id: lenient(id) })),
  enterprise: lenient(z.looseObject({ id: lenient(id) })),
  user: lenient(personSchema),
  channel: lenient(z.looseObject({ id })),
  container: lenient(
    z.looseObject({
      message_ts: lenient(ts),
      channel_id: lenient(id),
      thread_ts: lenient(ts),
      is_ephemeral: lenient(z.boolean()),
    }),
  ),
  message: lenient(z.looseObject({ ts: lenient(ts), thread_ts: lenient(ts), text: lenient(z.string()) })),
  actions: lenient(
    z.array(
      z.looseObject({
        action_id: lenient(z.string()),
        block_id: lenient(z.string()),
        value: lenient(z.string().max(2000)),
        action_ts: lenient(ts),
      }),
    ),
  ),
})

export type SlackInteraction = z.infer<typeof interactionSchema>

export const slashSchema = z.looseObject({
  command: z.string().regex(/^\/[^\s/]{1,64}$/),
  text: z.string().default(''),
  user_id: id,
  /** Slack means to leave it out one day; it is for where `users.info` says nothing. */
  user_name: lenient(z.string().max(256)),
  team_id: id,
  enterprise_id: lenient(id),
  channel_id: id,
  trigger_id: lenient(z.string().max(256)),
  api_app_id: lenient(id),
  is_enterprise_install: lenient(z.string()),
})

export type SlackSlash = z.infer<typeof slashSchema>

/** The block that holds the buttons of an approval; a click on anything else is not ours. */
export const approvalBlock = 'parley_approval'
export const approvalActions: ReadonlySet<string> = new Set(['approve', 'reject'])
