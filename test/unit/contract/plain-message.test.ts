// The short way through validation says yes only where the schema says yes and changes nothing.
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type NormalizedMessage, normalizedMessageSchema } from '../../../src/contract/message.ts'
import { isMessageAlreadyClean, type RepairCode, repairMessage } from '../../../src/contract/validate-message.ts'

const oddities: readonly unknown[] = [
  undefined,
  null,
  '',
  ' padded ',
  'UPPER_case',
  'e\u0301',
  'a\u0000b',
  '\ud800',
  '\u202egnp',
  0,
  -1,
  1.5,
  Number.NaN,
  true,
  false,
  [],
  {},
  ['x'],
  { kind: 'text' },
  '2026-02-30T00:00:00.000Z',
  '2024-02-29T00:00:00.000Z',
  '2026-13-01T00:00:00.000Z',
  '2026-11-17T24:00:00.000Z',
  '2026-11-17T10:00:00Z',
  'none',
  'x'.repeat(2000),
]

test('messages of text that adapters make are recognized, so that the short way is the usual one', () => {
  // What comes along a chain of agents is looked at closely.
  const texts = adapterMessages().filter(
    ({ message: { parts, sender, channel } }) =>
      parts.every(({ kind }) => kind === 'text') && sender.verified && channel?.caller === undefined,
  )
  const missed = texts.filter(({ message }) => !isMessageAlreadyClean(message)).map(({ name }) => name)
  expect(texts.length).toBeGreaterThan(10)
  expect(missed).toEqual([])
})

test('whatever is changed about a message, the short way never takes what the schema refuses or would change', () => {
  const wrong: string[] = []
  let taken = 0
  // The same place of the third message tells nothing new.
  const seen = new Map<string, number>()
  for (const { name, message } of adapterMessages()) {
    for (const path of pathsOf(message)) {
      const times = seen.get(path.join('.')) ?? 0
      if (times === 2) continue
      seen.set(path.join('.'), times + 1)
      for (const odd of [...oddities, gone, extra]) {
        const changed = withChange(message, path, odd)
        if (!isMessageAlreadyClean(changed)) continue
        taken += 1
        const warnings: RepairCode[] = []
        const parsed = normalizedMessageSchema.safeParse(repairMessage(changed, false, warnings))
        const isSame = parsed.success && warnings.length === 0 && isEqual(parsed.data, changed)
        if (!isSame) wrong.push(`${name} ${path.join('.')} = ${String(odd)}`)
      }
    }
  }
  expect(wrong).toEqual([])
  expect(taken).toBeGreaterThan(100)
})

type Twin = { readonly arrived: readonly { readonly kind: string; readonly message?: NormalizedMessage }[] }

/** What every adapter makes of its captured payloads. */
function adapterMessages(): readonly { readonly name: string; readonly message: NormalizedMessage }[] {
  return globSync('test/fixtures/*/*.json').flatMap((name) => {
    // What signatures of captured mails are checked against lies beside them.
    const { arrived = [] } = JSON.parse(readFileSync(name, 'utf8')) as Partial<Twin>
    return arrived.flatMap(({ message }) =>
      message === undefined ? [] : [{ name, message: { ...message, raw: { some: 'thing' } } }],
    )
  })
}

const gone = Symbol('gone')
const extra = Symbol('extra')

type Path = readonly (string | number)[]

/** Every place in it but the original, which the schema does not look into. */
function pathsOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null || path[0] === 'raw') return [path]
  const below = Object.entries(value).flatMap(([key, each]) => pathsOf(each, [...path, key]))
  return path.length === 0 ? below : [path, ...below]
}

function withChange(message: unknown, path: Path, odd: unknown): unknown {
  const copy = structuredClone(message)
  let place = copy as Record<string | number, unknown>
  for (const key of path.slice(0, -1)) place = place[key] as Record<string | number, unknown>
  const last = path.at(-1) ?? ''
  if (odd === gone) delete place[last]
  else if (odd === extra) place['unheard_of'] = 1
  else place[last] = odd
  return copy
}

/** By what is stored of them: a field that is undefined is none. */
function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, sorted(v)]),
  )
}
