// One outgoing mail as data: every try makes the same mail of it, but for Date, boundaries and signature.

import * as z from 'zod'
import type { JsonObject } from '../../../src/lib/index.ts'
import { isAsciiMailAddress } from './address.ts'

/** Name for people, address as `local@domain`. */
export type MailPerson = { readonly name: string; readonly address: string }

/** A stored file; with `cid` it is a picture that stands in the words. */
export type MailFileCall = {
  readonly id: string
  readonly name: string
  readonly mime: string
  readonly cid?: string
}

/** A question that can be answered by a link. */
export type MailDecision = {
  readonly action_id: string
  readonly code: string
  readonly summary: string
  /** Null: it waits for ever. */
  readonly expires_at: string | null
}

export type MailCall = JsonObject & {
  readonly op: 'send'
  /** The agent: name and address. */
  readonly from: MailPerson
  readonly to: readonly MailPerson[]
  readonly cc: readonly MailPerson[]
  readonly subject: string
  /** What the agent says, in both forms. */
  readonly text: string
  readonly html: string
  /** What it answers, in both forms; null where nothing is quoted. */
  readonly quote: { readonly text: string; readonly html: string } | null
  /** Ids without brackets. */
  readonly in_reply_to: string | null
  readonly references: readonly string[]
  /** Name of the thread, from which the reply token is made when it is sent. */
  readonly thread: string
  readonly files: readonly MailFileCall[]
  readonly decisions: readonly MailDecision[]
  /** Where the answer to a decision goes: set where there are decisions. */
  readonly decided: {
    readonly agent: string
    readonly thread_id: string
    readonly reply_to: JsonObject
  } | null
  /** How often agents have answered each other to get here. */
  readonly hop: number
}

// Where a reply to a mail goes, as normalize stores it and render reads it. Only `reply_to_…` differs between the mails of one
// thread.

const address = z.string().refine(isAsciiMailAddress, 'is no plain address')
const name = z.string().default('')

export const replyToSchema = z.object({
  /** Of the authenticated sender, and of no other person. */
  address,
  name,
  /** The address of ours that was written to. */
  agent: address,
  cc: z.array(z.object({ name, address })).default([]),
  /** Without brackets; null where the mail had none that can be named. */
  reply_to_id: z.string().nullish(),
  reply_to_references: z.array(z.string()).default([]),
  reply_to_subject: z.string().default(''),
  /** The key of the thread, as reply tokens carry it. */
  reply_to_key: z.string().regex(/^[a-z2-7]{16}$/),
  reply_to_quote: z.object({ author: z.string(), date: z.string().nullish(), text: z.string() }).nullish(),
  reply_to_hop: z.number().int().min(0).default(0),
})

export type MailReplyTo = z.infer<typeof replyToSchema>
