// Where an answer goes, and the Web API calls Parley makes (docs.slack.dev/reference/methods), as data.
import * as z from 'zod'
import type { JsonObject } from '../../../src/contract/index.ts'

/** Blocks of one message hold this much text in total; more is refused although no single limit is broken. */
export const maxTextLength = 12_000

export const replyToSchema = z.object({
  account: z.string(),
  /** The workspace an organization's token is used for. */
  team_id: z.string().optional(),
  channel: z.string(),
  thread_ts: z.string().optional(),
  /** Who gave a slash command: in a channel the answer is for this person alone, and the bot may not be in it. */
  user: z.string().optional(),
  reply_to_user: z.string().optional(),
  reply_to_team: z.string().optional(),
  /** The message itself, to be marked. */
  reply_to_ts: z.string().optional(),
  /** Set in the app's own views in Slack. */
  reply_to_surface: z.enum(['agent', 'assistant']).optional(),
  /** The card whose button was clicked, and what it asked. */
  reply_to_card: z.string().optional(),
  reply_to_question: z.string().optional(),
  /** The card is seen by one person alone, and can be changed by `response_url` only. */
  reply_to_private_card: z.boolean().optional(),
  /** By which name the `response_url` is kept. */
  reply_to_response: z.string().optional(),
})

/** Where an answer goes; the gateway keeps it as it is. */
export type SlackReplyTo = z.infer<typeof replyToSchema>

/** Only the person who gave a slash command in a channel saw it, and only they are shown the answer. */
export function isForOnePerson({ user, channel }: SlackReplyTo): boolean {
  return user !== undefined && !channel.startsWith('D')
}

export type MessagePayload = {
  readonly channel: string
  readonly text: string
  readonly blocks?: readonly JsonObject[]
  readonly thread_ts?: string
  readonly team_id?: string
}

/** Which installation's token the call is made with. */
type Account = {
  readonly account: string
  /** The kept `response_url`: `first` where the answer is for one person alone, else where the call itself cannot work. */
  readonly response?: { readonly key: string; readonly first?: true }
}

/** One Web API call as data; `upload` stands for the three that send a file. */
export type SlackCall = Account &
  (
    | {
        readonly method: 'chat.postMessage'
        readonly payload: MessagePayload
        /** The first words of a reply that may have a live message. */
        readonly live?: true
        readonly fallbackUser?: string
      }
    | {
        readonly method: 'chat.postEphemeral'
        readonly payload: MessagePayload & { readonly user: string }
        /** Written to directly where the bot cannot show them anything in the channel. */
        readonly fallbackUser?: string
      }
    | { readonly method: 'chat.update'; readonly payload: MessagePayload & { readonly ts: string } }
    | {
        readonly method: 'chat.startStream'
        readonly payload: {
          readonly channel: string
          readonly thread_ts: string
          readonly markdown_text: string
          readonly recipient_user_id?: string
          readonly recipient_team_id?: string
          readonly team_id?: string
        }
      }
    | {
        readonly method: 'upload'
        readonly payload: { readonly channel_id: string; readonly thread_ts?: string; readonly team_id?: string }
        readonly file: { readonly attachment: string; readonly name: string }
      }
  )

/** A message as it is read back, to look whether it is the one that was sent. */
export const foundMessageSchema = z.object({
  ts: z.string(),
  text: z.string().optional(),
  bot_id: z.string().optional(),
  metadata: z.object({ event_payload: z.object({ client_id: z.string().optional() }).optional() }).optional(),
})
export type FoundMessage = z.output<typeof foundMessageSchema>
