// Pairing: the short code a stranger reads out to an operator, and what strangers are told. Nearly forty random bits: enough that
// another person's code cannot be guessed.
import type { JsonObject, OmittedContent } from '../contract/index.ts'
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

export function pairingPrompt(code: string): string {
  return [
    "Hi! I can't chat with you yet. Your message is kept, and I'll answer it once you have access.",
    `Ask an admin to approve this code: ${formatPairingCode(code)}`,
  ].join('\n')
}

/** The same in a room where other people would read the code. */
export function pairingHint(): string {
  return "Hi! I can't chat with you yet. Write to me privately, and I'll tell you how to get access."
}

/** Said once they are let in, where nothing of theirs is left to be answered. */
export const pairingWelcome = "You're in! Write me something, and I'll answer."

/** Said once they are let in. Undefined: nothing was left out. */
export function resendNotice(leftOut: readonly OmittedContent[]): string | undefined {
  const files = [...new Set(leftOut.flatMap((each) => each.files))]
  const more = leftOut.reduce((sum, each) => sum + each.more_files, 0)
  const named = files.slice(0, maxFiles)
  const others = more + files.length - named.length
  const text = leftOut.some((each) => each.is_text_cut) ? ['the rest of your long message'] : []
  const all = [...named, ...(others === 0 ? [] : [others === 1 ? 'one more file' : `${others} more files`]), ...text]
  if (all.length === 0) return undefined
  const last = all.at(-1) ?? ''
  const list = all.length === 1 ? last : `${all.slice(0, -1).join(', ')} and ${last}`
  return `I could not keep ${list} while I did not know you yet; please send ${all.length === 1 ? 'it' : 'them'} again.`
}

const maxFiles = 10

/** A person wrote more in a while than is answered. */
export function rateLimitNotice(freeInMs: number): string {
  const minutes = Math.max(1, Math.ceil(freeInMs / 60_000))
  const hours = Math.ceil(minutes / 60)
  const when = minutes < 90 ? (minutes === 1 ? 'a minute' : `${minutes} minutes`) : `${hours} hours`
  return `That was a lot in a short time. I'll be able to answer again in ${when}; please write to me again then.`
}

/** Undefined: nothing is said. An unverified sender is never answered: the address may be a victim's. */
export function accessDeniedNotice(reason: RefusalReason | string, subject: string | null): string | undefined {
  if (subject === null) return undefined
  switch (reason) {
    case 'decision_not_allowed':
      return 'Only people who have access here can decide this.'
    case 'connection_closed':
    case 'agent_closed':
      return 'I am not taking messages here at the moment. Please try again later, or ask an admin.'
    case 'not_on_allow_list':
      return `I am not allowed to talk with you here. If you think I should be, ask an admin to let you in, as ${subject}`
    case 'denied_by_rule':
    case 'blocked':
      return 'I am not allowed to talk with you here.'
    case 'gw:hop_limit':
      return 'This has already passed through as many agents as it may. Please ask me directly.'
    case 'gw:agent_loop':
      return 'I have already answered here, and there is nothing new since then.'
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
