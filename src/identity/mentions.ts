// Mentions in text: `@agent` and `@agent@domain` in messages, and which people a reply may notify. Nothing in code, in a word or
// in a mail address counts.

import type { ConnectionConfig } from '../contract/channel.ts'
import { formatAddress, parseAddress } from '../contract/index.ts'

export type TextMention = {
  /** As written, with its `@`. */
  readonly text: string
  readonly local: string
  /** In wire form; absent for a bare handle. */
  readonly domain?: string
  /** Whether nothing but other mentions stands before it. */
  readonly isLeading: boolean
}

/** Text beyond this is not searched: the addressed agent is named near the beginning. */
const maxSearched = 16_384
const maxMentions = 64

// A fence, to its end or the text's; or a span between equal runs of backticks within a paragraph, as CommonMark has it.
const fence = /^ {0,3}(`{3,}|~{3,})[^\n]*(?:[\s\S]*?\n {0,3}\1[^\n]*(?=\n|$)|[\s\S]*)/gm
const span = /(?<!`)(`+)(?!`)(?:[^\n]|\n(?![ \t]*\n))*?(?<!`)\1(?!`)/g
const before = /(?<![\p{L}\p{N}\p{M}_@.+\-/\\=:&#%])/u
const name = /@([A-Za-z0-9](?:[\w.-]{0,62}\w)?)/
const host = /(?:@([\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,251}[\p{L}\p{N}])?))?/u
const after = /(?![\p{L}\p{N}\p{M}_@/\\])/u
const handle = new RegExp(before.source + name.source + host.source + after.source, 'gu')

/**
 * The text with its code replaced by a sign that is in no name and before no mention: code counts as something said, and
 * becomes part of nothing. As long as the text; beyond what is searched, code is not looked for.
 */
function maskCodeInText(text: string): string {
  const repeatHashSign = (hidden: string) => '#'.repeat(hidden.length)
  return (
    text.slice(0, maxSearched).replace(fence, repeatHashSign).replace(span, repeatHashSign) + text.slice(maxSearched)
  )
}

export function mentionsIn(text: string): readonly TextMention[] {
  const searched = maskCodeInText(text.slice(0, maxSearched))
  const mentions: TextMention[] = []
  let end = 0
  let isLeading = true
  for (const match of searched.matchAll(handle)) {
    if (mentions.length === maxMentions) break
    const [written, local = '', given] = match
    isLeading &&= /^[\s,]*$/.test(searched.slice(end, match.index))
    end = match.index + written.length
    const domain = given === undefined ? undefined : parseAddress(`${local}@${given}`)?.domain
    // A domain that is none makes the whole of it plain text.
    if (given !== undefined && domain === undefined) continue
    mentions.push({ text: written, local, ...(domain === undefined ? {} : { domain }), isLeading })
  }
  return mentions
}

// Names in a reply that must notify no person stay readable and stop being mentions.

/** May reach whom it names; may not, and stays as it is written; may not, and is made to be no name. */
export type MentionTreatment = 'live' | 'leave' | 'defuse'

export type WrittenName = { readonly local: string; readonly domain?: string }

export type DefusedText = {
  readonly text: string
  /** The names that may notify a person, as written, in small letters. */
  readonly live: readonly string[]
}

/** Takes no room and breaks no line; no platform reads a name across it. */
const joiner = '\u2060'
/** Whole rooms, wherever they are understood; never one person. */
const rooms: ReadonlySet<string> = new Set(['all', 'channel', 'everyone', 'here'])

// Wider than what counts as addressing an agent: whatever some platform might take for a name. Mail addresses and paths are none.
const beforeName = /(?<![\p{L}\p{N}\p{M}_/])/u
const localPartPattern = /@([\p{L}\p{N}_](?:[\p{L}\p{N}_.-]{0,62}[\p{L}\p{N}_])?)/u
const domainPattern = /(?:@([\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,251}[\p{L}\p{N}])?))?/u
const writtenName = new RegExp(beforeName.source + localPartPattern.source + domainPattern.source, 'gu')

/** Names in code stay as they are: the renderer knows which names may stay mentions, and no others may. */
export function defuseMentions(text: string, treatmentOf: (name: WrittenName) => MentionTreatment): DefusedText {
  if (!text.includes('@')) return { text, live: [] }
  const live: string[] = []
  let defused = ''
  let end = 0
  // Found where code is hidden, changed where it is not: both are of one length.
  for (const match of maskCodeInText(text).matchAll(writtenName)) {
    const [found, name = '', domain] = match
    const asWritten = { local: name, ...(domain === undefined ? {} : { domain }) }
    const treatment = rooms.has(name.toLowerCase()) ? 'defuse' : treatmentOf(asWritten)
    if (treatment === 'live') live.push(found.toLowerCase())
    if (treatment !== 'defuse') continue
    defused += `${text.slice(end, match.index + 1)}${joiner}`
    end = match.index + 1
  }
  return { text: defused + text.slice(end), live }
}

// May a reply notify this person? Waking agents is decided by the relay policy; this is about people.

/** `participants`: addresses of the people who have taken part in the conversation. */
export function mayMentionHuman(
  policy: ConnectionConfig['mentionHumans'],
  participants: Iterable<string>,
  address: string,
): boolean {
  const asked = canonicalAddress(address)
  if (asked === undefined || policy === 'nobody') return false
  return policy === 'anyone' || [...participants].some((participant) => canonicalAddress(participant) === asked)
}

function canonicalAddress(address: string): string | undefined {
  const parsed = parseAddress(address)
  return parsed === undefined ? undefined : formatAddress(parsed)
}
