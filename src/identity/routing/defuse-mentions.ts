// Names in a reply that must notify no person: they stay readable and stop being mentions.
import { hideCode } from './mentions-in.ts'

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
export function defuseMentions(text: string, fateOf: (name: WrittenName) => MentionTreatment): DefusedText {
  if (!text.includes('@')) return { text, live: [] }
  const live: string[] = []
  let defused = ''
  let end = 0
  // Found where code is hidden, changed where it is not: both are of one length.
  for (const match of hideCode(text).matchAll(writtenName)) {
    const [found, name = '', domain] = match
    const asWritten = { local: name, ...(domain === undefined ? {} : { domain }) }
    const fate = rooms.has(name.toLowerCase()) ? 'defuse' : fateOf(asWritten)
    if (fate === 'live') live.push(found.toLowerCase())
    if (fate !== 'defuse') continue
    defused += `${text.slice(end, match.index + 1)}${joiner}`
    end = match.index + 1
  }
  return { text: defused + text.slice(end), live }
}
