// The sender of a mail, by what was proven and nothing else; what it merely claims stays in its raw text. Pure.

import {
  formatAddress,
  mintEvidence,
  parseAddress,
  type Sender,
  unverifiedSender,
  verifiedSender,
} from '../../../src/contract/index.ts'
import { cleanName, type JsonObject } from '../../../src/lib/index.ts'
import type { Mailbox, MailProof } from '../wire/mail.ts'
import type { VerifiedMail, VerifiedRecipient } from '../wire/verified-mail.ts'
export type SenderContext = {
  /** Ours, as issuer where no domain signed; and of the addresses that stand for unverified senders. */
  readonly domain: string
  readonly recipient: string
  readonly receivedAt: string
  /** Domains that let none of their users write under another's address. */
  readonly addressDomains: readonly string[]
}

/** The author, if the proof is one and the address one that can be written down without a doubt. */
export function getProvenAuthor({ standing, author }: MailProof): Mailbox | undefined {
  if (standing !== 'verified' || author === undefined) return undefined
  return parseAddress(author.address) === undefined ? undefined : author
}

export function mailboxSubject({ address, domain }: Mailbox): string {
  return `mailto:${address.slice(0, address.lastIndexOf('@'))}@${domain}`
}

export function mailSender(proof: MailProof, context: SenderContext): Sender {
  const author = getProvenAuthor(proof)
  const address = author === undefined ? undefined : parseAddress(author.address)
  if (author === undefined || address === undefined || proof.method === 'none') return unverifiedSender(context.domain)
  const name = cleanName(author.name)
  const { method, keyId } = proof
  const evidence = mintEvidence({
    subject: mailboxSubject(author),
    issuer: domainFromKeyId(keyId) ?? context.domain,
    method: `urn:gw:auth:${method}:v0.1`,
    // A signature is the domain's statement about the mailbox: which of its users may use which one is up to that domain.
    assurance: context.addressDomains.includes(author.domain) ? 'address' : 'domain',
    recipient: context.recipient,
    issuedAt: context.receivedAt,
    ...(keyId === undefined ? {} : { keyId }),
    claims: { signed: proof.signedHeaders.slice(0, 32).join(':'), reasons: proof.reasons.slice(0, 16) },
  })
  return verifiedSender([evidence], {
    address: formatAddress(address),
    ...(name === '' ? {} : { display_name: name }),
    profile: {
      ...(name === '' ? {} : { display_name: name }),
      provider: 'email',
      provider_subject: mailboxSubject(author),
    },
    auth_method: method,
    ...(keyId === undefined ? {} : { key_id: keyId }),
  })
}

/** The domain in `selector._domainkey.domain`. */
function domainFromKeyId(keyId: string | undefined): string | undefined {
  const mark = '._domainkey.'
  const at = keyId?.indexOf(mark) ?? -1
  return at < 0 ? undefined : keyId?.slice(at + mark.length)
}

// A reply goes to the proven author, never to others that the mail merely names. Pure.

type AgentRecipient = Extract<VerifiedRecipient, { kind: 'agent' }>

/** An address that no mailbox can ever have (RFC 2606): what cannot be proven is not answered, and could not be. */
const unverifiedAddress = 'nobody@unverified.invalid'
const maxQuoteLines = 40
const maxQuoteLength = 4000
/** How much of a chain a reply repeats: its beginning and its end. */
const maxReferences = 20

export function mailReplyTo({ head, proof, body, hop }: VerifiedMail, { address, thread }: AgentRecipient): JsonObject {
  const author = getProvenAuthor(proof)
  const name = cleanName(author?.name ?? '')
  return {
    address: author?.address ?? unverifiedAddress,
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
