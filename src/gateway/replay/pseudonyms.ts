// Stable stand-ins for people, places and texts: the same original gives the same stand-in within one fixture.
import type { Json } from '../../contract/index.ts'
import { redactRaw } from '../../inbound/redact.ts'

export type Pseudonyms = {
  readonly person: (key: string) => string
  /** Another name of the same person. */
  readonly alias: (value: string | null | undefined, standIn: string) => void
  readonly id: (kind: string, value: string) => string
  readonly text: (value: string) => string
  /** Any other JSON: its shape, without what it says. */
  readonly json: (value: Json) => Json
}

const filler = 'loremipsumdolorsitametconsecteturadipiscingelit'
/** Shorter ones would be found inside ordinary words. */
const shortestName = 3

export function createPseudonyms(keepsText: boolean): Pseudonyms {
  const counts = new Map<string, number>()
  const known = new Map<string, string>()
  const numberedPseudonym = (kind: string, value: string): string => {
    const found = known.get(value)
    if (found !== undefined) return found
    const number = (counts.get(kind) ?? 0) + 1
    counts.set(kind, number)
    known.set(value, `${kind}-${number}`)
    return `${kind}-${number}`
  }
  const replaceInText = (value: string): string => {
    const exact = known.get(value)
    if (exact !== undefined) return exact
    return keepsText ? withoutNames(known, redactSecretText(value)) : fillerLike(value)
  }
  const replaceInJson = (value: Json): Json => {
    if (typeof value === 'string') return replaceInText(value)
    if (typeof value === 'number') return isTelling(known, value) ? 1_000_000 : value
    if (Array.isArray(value)) return value.map(replaceInJson)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, field]) => [known.get(key) ?? key, replaceInJson(field)]),
    )
  }
  return {
    person: (key) => numberedPseudonym('person', key),
    alias(value, standIn) {
      if (value === undefined || value === null || value === '') return
      if (!known.has(value)) known.set(value, standIn)
      for (const word of value.split(/\s+/))
        if (word.length >= shortestName && !known.has(word)) known.set(word, standIn)
    },
    id: numberedPseudonym,
    text: replaceInText,
    json: replaceInJson,
  }
}

/** Letters become filler and digits zeros; case, blanks, punctuation and a leading command stay. */
function fillerLike(text: string): string {
  const command = /^\/\w+/.exec(text)?.[0] ?? ''
  let at = 0
  const letter = (original: string): string => {
    const next = filler[at % filler.length] ?? 'x'
    at += 1
    return original === original.toLowerCase() ? next : next.toUpperCase()
  }
  return command + text.slice(command.length).replace(/\p{L}/gu, letter).replace(/\p{N}/gu, '0')
}

function redactSecretText(value: string): string {
  return String(redactRaw({ value })['value'] ?? '')
}

function withoutNames(known: ReadonlyMap<string, string>, value: string): string {
  const originals = [...known.keys()].filter((each) => each.length >= shortestName).toSorted(byLength)
  let cleaned = value
  for (const original of originals) {
    const word = new RegExp(`(?<![\\p{L}\\p{N}])${escapeRegExp(original)}(?![\\p{L}\\p{N}])`, 'giu')
    cleaned = cleaned.replace(word, known.get(original) ?? '')
  }
  return cleaned
}

/** A person's id as a number, or one long enough to be a telephone number or an account. */
function isTelling(known: ReadonlyMap<string, string>, value: number): boolean {
  return known.has(String(value)) || Math.abs(value) >= 100_000
}

function byLength(one: string, other: string): number {
  return other.length - one.length
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
