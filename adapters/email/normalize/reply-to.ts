// Where the answer to a mail goes: to its proven author, never to others that the mail merely names. Pure.
import { cleanName, type JsonObject } from '../../../src/contract/index.ts'
import type { VerifiedMail, VerifiedRecipient } from '../wire/read.ts'
import { provenAuthor } from './sender.ts'

type AgentRecipient = Extract<VerifiedRecipient, { kind: 'agent' }>

/** An address that no mailbox can ever have (RFC 2606): what cannot be proven is not answered, and could not be. */
const nobody = 'nobody@unverified.invalid'
const maxQuoteLines = 40
const maxQuoteLength = 4000
/** How much of a chain a reply repeats: its beginning and its end. */
const maxReferences = 20

export function mailReplyTo({ head, proof, body, hop }: VerifiedMail, { address, thread }: AgentRecipient): JsonObject {
  const author = provenAuthor(proof)
  const name = cleanName(author?.name ?? '')
  return {
    address: author?.address ?? nobody,
    name,
    agent: address,
    // A reply to all would let a sender have the agent write to others.
    cc: [],
    reply_to_id: head.messageId ?? null,
    reply_to_references: shortenReferences(head.references.length === 0 ? head.inReplyTo : head.references),
    reply_to_subject: head.subject,
    reply_to_key: thread.key,
    reply_to_quote:
      body.text === ''
        ? null
        : {
            author: name === '' ? (author?.address ?? '') : name,
            date: head.date ?? null,
            text: excerptForQuote(body.text),
          },
    reply_to_hop: hop ?? 0,
  }
}

function shortenReferences(ids: readonly string[]): string[] {
  return ids.length <= maxReferences ? [...ids] : [ids[0] ?? '', ...ids.slice(1 - maxReferences)]
}

function excerptForQuote(text: string): string {
  const lines = text.split('\n')
  const kept = lines.slice(0, maxQuoteLines).join('\n').slice(0, maxQuoteLength).toWellFormed()
  return kept.length < text.length ? `${kept}\n…` : kept
}
