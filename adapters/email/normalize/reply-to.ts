// Where the answer to a mail goes: to its proven author, never to others that the mail merely names. Pure.
import { cleanName, type JsonObject } from '../../../src/contract/index.ts'
import type { ReadMail, ReadRecipient } from '../wire/read.ts'
import { authorOf } from './sender.ts'

type Agent = Extract<ReadRecipient, { kind: 'agent' }>

/** An address that no mailbox can ever have (RFC 2606): what cannot be proven is not answered, and could not be. */
const nobody = 'nobody@unverified.invalid'
const maxQuoteLines = 40
const maxQuoteLength = 4000
/** How much of a chain a reply repeats: its beginning and its end. */
const maxReferences = 20

export function replyToOf({ head, proof, body, hop }: ReadMail, { address, thread }: Agent): JsonObject {
  const author = authorOf(proof)
  const name = cleanName(author?.name ?? '')
  return {
    address: author?.address ?? nobody,
    name,
    agent: address,
    // A reply to all would let a sender have the agent write to others.
    cc: [],
    reply_to_id: head.messageId ?? null,
    reply_to_references: shortened(head.references.length === 0 ? head.inReplyTo : head.references),
    reply_to_subject: head.subject,
    reply_to_key: thread.key,
    reply_to_quote:
      body.text === ''
        ? null
        : { author: name === '' ? (author?.address ?? '') : name, date: head.date ?? null, text: quoted(body.text) },
    reply_to_hop: hop ?? 0,
  }
}

function shortened(ids: readonly string[]): string[] {
  return ids.length <= maxReferences ? [...ids] : [ids[0] ?? '', ...ids.slice(1 - maxReferences)]
}

function quoted(text: string): string {
  const lines = text.split('\n')
  const kept = lines.slice(0, maxQuoteLines).join('\n').slice(0, maxQuoteLength).toWellFormed()
  return kept.length < text.length ? `${kept}\n…` : kept
}
