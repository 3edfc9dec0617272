// What Slack sends when a person presses a button or gives a command (docs.slack.dev/reference/interaction-payloads).
import * as z from 'zod'
import { id, lenientField, ts } from './field.ts'

const personSchema = z.looseObject({ id, team_id: lenientField(id), name: lenientField(z.string().max(256)) })

export const interactionSchema = z.looseObject({
  type: z.string(),
  api_app_id: lenientField(id),
  is_enterprise_install: lenientField(z.boolean()),
  team: lenientField(z.looseObject({ id: lenientField(id), enterprise_id: lenientField(id) })),
  enterprise: lenientField(z.looseObject({ id: lenientField(id) })),
  user: lenientField(personSchema),
  channel: lenientField(z.looseObject({ id })),
  container: lenientField(
    z.looseObject({
      message_ts: lenientField(ts),
      channel_id: lenientField(id),
      thread_ts: lenientField(ts),
      is_ephemeral: lenientField(z.boolean()),
    }),
  ),
  message: lenientField(
    z.looseObject({ ts: lenientField(ts), thread_ts: lenientField(ts), text: lenientField(z.string()) }),
  ),
  actions: lenientField(
    z.array(
      z.looseObject({
        action_id: lenientField(z.string()),
        block_id: lenientField(z.string()),
        value: lenientField(z.string().max(2000)),
        action_ts: lenientField(ts),
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
  user_name: lenientField(z.string().max(256)),
  team_id: id,
  enterprise_id: lenientField(id),
  channel_id: id,
  trigger_id: lenientField(z.string().max(256)),
  api_app_id: lenientField(id),
  is_enterprise_install: lenientField(z.string()),
})

export type SlackSlash = z.infer<typeof slashSchema>

/** The block that holds the buttons of an approval; a click on anything else is not ours. */
export const approvalBlock = 'parley_approval'
export const approvalActions: ReadonlySet<string> = new Set(['approve', 'reject'])
