// Capabilities of a channel: for the agent that replies (RecipientCapabilities), for the core (Capabilities), and presence.
import * as z from 'zod'

const envelopeField = z.enum(['to', 'cc'])

export const mentionRelaySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('inline') }),
  z.object({ kind: z.literal('recipient-field'), fields: z.array(envelopeField).min(1) }),
  z.object({
    kind: z.literal('addressing'),
    envelope_fields: z.array(envelopeField).min(1),
    also_inline: z.literal(true),
  }),
  z.object({ kind: z.literal('none') }),
])

const agentChainSchema = z
  .object({ hop: z.number().int().min(1), max_hops: z.number().int().min(1), is_final: z.boolean() })
  .refine((chain) => chain.hop <= chain.max_hops && chain.is_final === (chain.hop === chain.max_hops))

export const recipientCapabilitiesSchema = z.object({
  mention_relay: mentionRelaySchema,
  agent_chain: agentChainSchema.optional(),
  rendering: z
    .object({
      max_text_chars: z.number().int().positive().optional(),
      markdown: z.string().optional(),
      streaming: z.enum(['native', 'edit', 'none']).optional(),
      files: z.boolean().optional(),
      buttons: z.boolean().optional(),
    })
    .optional(),
})

/** How the platform routes mentions of others in a reply. */
export type MentionRelay = z.infer<typeof mentionRelaySchema>
/** What an agent may rely on when it writes a reply. */
export type RecipientCapabilities = z.infer<typeof recipientCapabilitiesSchema>

/** At most `count` calls in any window of `perMs`. */
export type RateLimit = { readonly count: number; readonly perMs: number }

/**
 * At most `count` answers in any window of `perMs`, counted on the connection by what they have in common: the conversation, who
 * wrote, the sender's domain, or the very words that were written.
 */
export type ReplyLimit = RateLimit & {
  readonly per: 'thread' | 'sender' | 'domain' | 'words'
  /** `direct`: only where a person writes in private, who is told once when answers go on; `open`: everywhere else. Left out: everywhere. */
  readonly in?: 'direct' | 'open'
}

/** Limits and abilities of a channel, as data: the core decides by these and never by the channel's name. */
export type Capabilities = {
  /** Longest text of one call, counted in UTF-16 units. */
  readonly maxTextLength: number
  /** How a send with an unknown outcome is settled: resend with the same id, look it up, edit again, or not at all. */
  readonly idempotentSend: 'client-id' | 'lookup' | 'edit' | 'none'
  /** Longest time one vendor call may take; must stay under a third of the lease. */
  readonly callTimeoutMs: number
  /** Inbound events whose platform time is older are refused as stale. */
  readonly horizonMs: number
  readonly limits: { readonly connection?: RateLimit; readonly conversation?: RateLimit }
  /** Where machines may answer machines: what is beyond these gets no answer, and the operator is told once per window. */
  readonly replyLimits?: readonly ReplyLimit[]
  /** Into how many messages one reply is split at most, unless the operator says otherwise; as many as it takes where it is left out. */
  readonly maxParts?: number
  /** How the rest of a longer one is given: a file beside the words, or a link in them. Nothing where it is left out. */
  readonly wholeReply?: 'file' | 'link'
  /**
   * A sender told to come later comes again by itself, and keeps nothing else waiting. Where it is left out the platform delivers
   * in order, tries only a few times or turns itself off: what is too much is acknowledged and dropped.
   */
  readonly redelivers?: boolean
  /** The values this channel writes into received_via and auth_method. */
  readonly receivedVia: string
  readonly authMethods: readonly string[]
  readonly mentionRelay: MentionRelay
  /** False where a name in a text notifies no person. */
  readonly notifiesByName?: boolean
  /** `render` itself keeps every name outside `mayNotify` from notifying a person, so the words stay as they are written. */
  readonly coversNames?: boolean
  /** A person sits there who can be asked and answers; false where it is left out. */
  readonly isInteractive?: boolean
  /** Messages can be edited also where `live` is not implemented: a question that is decided becomes its outcome. */
  readonly canEdit?: boolean
  /** A press on a question's button is answered by editing the question. */
  readonly editsPressed?: boolean
  /** `/approve` and `/reject` name what they decide about by its code, also where only one thing waits. */
  readonly needsDecisionCode?: boolean
  /**
   * Any server can send here, without an account at a platform that verifies the sender: what people who are not
   * admitted may send in a day is counted.
   */
  readonly isOpenToAnyone?: boolean
  /** How people write a command for the gateway here; where it is left out: `/stop`, `/approve c0ffee`. */
  readonly commandForm?: CommandForm
  /** What `render` is told to be about a refused access or a command it shows to that person alone, also in a room. */
  readonly tellsInPrivate?: boolean
  /** `own`: a file's URL in a message may be one that this gateway or its store signed, and counts only as that. */
  readonly takesFileUrls?: 'own'
  /** Calls are `{ event }` and go into the run's own log: the commit that ends the turn delivers them. */
  readonly appends?: boolean
}

/** `prefix` stands before the name, `joint` between the name and what it is about. */
export type CommandForm = { readonly prefix: string; readonly joint: string }

/** A command for the gateway as a person writes it on a channel. */
export function writeCommand(form: CommandForm | undefined, name: string, about = ''): string {
  const { prefix, joint } = form ?? { prefix: '/', joint: ' ' }
  return about === '' ? `${prefix}${name}` : `${prefix}${name}${joint}${about.replaceAll(' ', joint)}`
}

// Presence: typing, reactions and status. Each is sent at most once, outside the outbox, and no turn waits for one.

/**
 * Moments a platform may show, outside the outbox: a message waits behind a run, its turn begins, it has been at work for a while, it
 * is over, a conversation was opened.
 */
export type PresenceUpdate = 'waiting' | 'seen' | 'typing' | 'ended' | 'opened'

/** What presence updates are given along; nothing that is not said to the same place anyway. */
export type PresenceDetails = {
  /** `waiting`, `seen`: the message, as its platform calls it. */
  readonly messageId?: string
  /** `seen`: how long the message waited to be taken up. */
  readonly waitedMs?: number
  /** `seen`: the words that were taken up. */
  readonly text?: string
  /** `opened`: what one might ask here. */
  readonly starters?: readonly Starter[]
  /** `ended`: how. `again`: it failed and is tried once more. */
  readonly outcome?: 'replied' | 'silent' | 'failed' | 'again'
}

/** Something a person might ask, offered before they have said anything. */
export type Starter = { readonly title: string; readonly message: string }
