// What was sent and what would be sent, as lines a person can compare.
import type { Json } from '../../contract/index.ts'
import type { SentCall } from '../../db/replay.ts'

export type Account = {
  readonly outcome: string
  readonly reason: string | null
  readonly calls: readonly SentCall[]
  /** Names of timers. */
  readonly timers: readonly string[]
}

/** Beyond this a difference is shown as everything out, everything in. */
const maxLines = 2_000

export function describeAccount({ outcome, reason, calls, timers }: Account): readonly string[] {
  return [
    reason === null ? outcome : `${outcome}(${reason})`,
    ...calls.flatMap(({ purpose, primary, call }, index) => [
      `call ${index + 1}, ${purpose}${primary ? '' : ', beside the answer'}`,
      ...fieldLines(call, '  '),
    ]),
    ...timers.map((name) => `timer ${name}`),
  ]
}

/** Every line with ' ', '-' or '+' before it. */
export function diffLines(before: readonly string[], after: readonly string[]): readonly string[] {
  if (before.length > maxLines || after.length > maxLines)
    return [...before.map((line) => `-${line}`), ...after.map((line) => `+${line}`)]
  const common = commonLengths(before, after)
  const lines: string[] = []
  let old = 0
  let now = 0
  while (old < before.length || now < after.length) {
    if (old < before.length && now < after.length && before[old] === after[now]) {
      lines.push(` ${before[old]}`)
      old += 1
      now += 1
    } else if (
      now >= after.length ||
      (old < before.length && lengthAt(common, old + 1, now) >= lengthAt(common, old, now + 1))
    ) {
      lines.push(`-${before[old]}`)
      old += 1
    } else {
      lines.push(`+${after[now]}`)
      now += 1
    }
  }
  return lines
}

/** The same JSON whatever order its keys are in: the database keeps its own. */
export function formatSortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  )
}

function fieldLines(value: Json, indent: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return scalarLines('', value, indent)
  return Object.entries(value)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([key, field]) =>
      typeof field === 'object' && field !== null
        ? [`${indent}${key}:`, ...fieldLines(field, `${indent}  `)]
        : scalarLines(`${key}: `, field, indent),
    )
}

function scalarLines(label: string, value: Json, indent: string): readonly string[] {
  const [first = '', ...rest] = String(value).split('\n')
  return [`${indent}${label}${first}`, ...rest.map((line) => `${indent}  ${line}`)]
}

/** Length of the longest common rest of both, from each pair of places on. */
function commonLengths(before: readonly string[], after: readonly string[]): readonly Uint16Array[] {
  const rows = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1))
  for (let old = before.length - 1; old >= 0; old -= 1) {
    for (let now = after.length - 1; now >= 0; now -= 1) {
      const row = rows[old]
      if (row === undefined) continue
      row[now] =
        before[old] === after[now]
          ? lengthAt(rows, old + 1, now + 1) + 1
          : Math.max(lengthAt(rows, old + 1, now), lengthAt(rows, old, now + 1))
    }
  }
  return rows
}

function lengthAt(rows: readonly Uint16Array[], old: number, now: number): number {
  return rows[old]?.[now] ?? 0
}
