// Unknown and repeated names, keys of the configuration and variables alike, with the name that was probably meant.
import type { ChannelDefinition } from '../contract/index.ts'
import { attachmentVariables } from './attachments.ts'
import { environmentSchema } from './environment.ts'
import { tokenIssuerVariables } from './token-issuers.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Set by our own launcher, and by Kubernetes and Docker beside a service that is called parley. */
const foreignVariables = /^PARLEY_(RELAUNCHED$|SERVICE_|PORT_|ENV_|NAME$)/

export function unknownKeyProblems(given: object, known: readonly string[]): readonly string[] {
  return Object.keys(given)
    .filter((key) => !known.includes(key))
    .map((key) => `unknown key "${key.slice(0, 64)}"; ${didYouMeanText(key, known)}`)
}

/** `problems` stop the start. What begins like a channel's variables may be meant for another program: that is a warning. */
export function unknownVariableProblems(
  env: Environment,
  channels: readonly ChannelDefinition[],
): { readonly problems: readonly string[]; readonly warnings: readonly string[] } {
  const known = [
    ...Object.keys(environmentSchema.shape),
    ...attachmentVariables,
    ...tokenIssuerVariables,
    ...channels.flatMap(({ variables }) => variables),
  ]
  const unread = Object.keys(env).filter((name) => !known.includes(name) && !foreignVariables.test(name))
  const unknownVariableText = (name: string): string =>
    `${name.slice(0, 64)} is read by nothing; ${didYouMeanText(name, namesWithSamePrefix(name, known))}`
  return {
    problems: unread.filter((name) => name.startsWith('PARLEY_')).map(unknownVariableText),
    warnings: unread
      .filter((name) => !name.startsWith('PARLEY_') && namesWithSamePrefix(name, known).length > 0)
      .map(unknownVariableText),
  }
}

function namesWithSamePrefix(name: string, known: readonly string[]): readonly string[] {
  const prefix = name.slice(0, name.indexOf('_') + 1)
  return prefix === '' ? [] : known.filter((each) => each.startsWith(prefix))
}

function didYouMeanText(name: string, known: readonly string[]): string {
  const meant = nearestName(name, known)
  return meant === undefined ? `known are ${known.toSorted().join(', ')}` : `did you mean ${meant}?`
}

/** Within a third of its length: more than slips of the fingers, less than another word. */
function nearestName(name: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((each) => ({ each, distance: editDistance(name.toLowerCase(), each.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance)
  return best !== undefined && best.distance <= Math.max(1, Math.floor(name.length / 3)) ? best.each : undefined
}

/** Levenshtein, of names that are cut at 64 letters. */
function editDistance(from: string, to: string): number {
  const [a, b] = [from.slice(0, 64), to.slice(0, 64)]
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

// A name that was given more than once is reported once.

export function findDuplicates(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
}
