// Pairing: the short code a stranger reads out to an operator, and what strangers are told. Nearly forty random bits: enough that
// another person's code cannot be guessed.

import type { OmittedContent } from '../contract/inbound-event.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { type Sentence, say } from '../locales/say.ts'
import type { RefusalReason } from './access-policy.ts'

/** No vowels, so no words; nothing that looks like something else. */
const pairingCodeLetters = '23456789BCDFGHJKMNPQRSTVWXYZ'
const pairingCodeLength = 8

export function newPairingCode(fillRandom: (bytes: Uint8Array<ArrayBuffer>) => void): string {
  let code = ''
  while (code.length < pairingCodeLength) {
    const bytes = new Uint8Array(16)
    fillRandom(bytes)
    // Bytes beyond the last whole round are thrown away: every letter is as likely as any other.
    for (const byte of bytes) {
      if (byte < 256 - (256 % pairingCodeLetters.length) && code.length < pairingCodeLength)
        code += pairingCodeLetters[byte % pairingCodeLetters.length]
    }
  }
  return code
}

/** As people read it: two groups of four. */
export function formatPairingCode(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`
}

/** What a person typed, as the code is stored; undefined when it cannot be one. */
export function readPairingCode(text: string): string | undefined {
  const code = text.replace(/[\s-]/g, '').toUpperCase()
  return code.length === pairingCodeLength && [...code].every((letter) => pairingCodeLetters.includes(letter))
    ? code
    : undefined
}

// Texts for people who are not admitted yet are useful to them alone: no rule, no name, no setting.

/** `isRead`: in a room where other people would read the code. */
export function pairingPrompt(code: string, isRead: boolean): Sentence {
  return isRead ? say('pairing.asked_in_room') : say('pairing.asked', { code: formatPairingCode(code) })
}

/** Said once they are let in. Undefined: nothing was left out. */
export function resendOmittedContentNotice(leftOut: readonly OmittedContent[]): Sentence | undefined {
  const files = [...new Set(leftOut.flatMap((each) => each.files))]
  const more = leftOut.reduce((sum, each) => sum + each.more_files, 0)
  const named = files.slice(0, maxFiles)
  const others = more + files.length - named.length
  const text = leftOut.some((each) => each.is_text_cut) ? [say('content.rest_of_message')] : []
  const all = [...named, ...(others === 0 ? [] : [say('content.more_files', { count: others })]), ...text]
  if (all.length === 0) return undefined
  const last = all.at(-1) ?? ''
  const list = all.length === 1 ? last : say('list.last', { list: all.slice(0, -1).join(', '), last })
  return say('content.resend', { list, count: all.length })
}

const maxFiles = 10

/** A person wrote more in a while than is answered. */
export function rateLimitNotice(freeInMs: number): Sentence {
  const minutes = Math.max(1, Math.ceil(freeInMs / 60_000))
  const hours = Math.ceil(minutes / 60)
  if (minutes >= 90) return say('limit.reached', { time: say('time.hours', { count: hours }) })
  const time = minutes === 1 ? say('time.one_minute') : say('time.minutes', { count: minutes })
  return say('limit.reached', { time })
}

/** Undefined: nothing is said. An unverified sender is never answered: the address may be a victim's. */
export function accessDeniedNotice(reason: RefusalReason | string, subject: string | null): Sentence | undefined {
  if (subject === null) return undefined
  switch (reason) {
    case 'decision_not_allowed':
      return say('decision.not_allowed')
    case 'connection_closed':
    case 'agent_closed':
      return say('access.closed')
    case 'not_on_allow_list':
      return say('access.not_listed', { subject })
    case 'denied_by_rule':
    case 'blocked':
      return say('access.denied')
    case 'gw:hop_limit':
      return say('chain.too_long')
    case 'gw:agent_loop':
      return say('chain.answered_before')
    default:
      return undefined
  }
}

/** An unknown sender asks to be let in. `knownId`: the pairing that is open already. */
export type NewPairing = {
  readonly id: string
  readonly knownId: string | null
  /** `*`: with the connection; else with this agent. */
  readonly agent: string
  readonly subject: string
  readonly code: string
  /** For the operator's eyes; proves nothing. */
  readonly shownName: string | null
  readonly evidence: JsonObject
  readonly expiresInMs: number
  /** Of the sender: a domain, a workspace, an issuer. */
  readonly group: string | null
  /** How many may wait at once. */
  readonly perConnection: number
  readonly perGroup: number
}
