// The subject of an answer: what the thread is about, without the marks that mail programs of many languages put before it. Pure.
import { cleanName } from '../../../src/contract/index.ts'

const maxSubject = 200
/** Marks of answers and forwards, in small letters, as they stand before a colon. */
const replyMarks: ReadonlySet<string> = new Set([
  're',
  'fwd',
  'fw',
  'aw',
  'wg',
  'sv',
  'vs',
  'antw',
  'doorst',
  'odp',
  'pd',
  'rv',
  'enc',
  'tr',
  'ynt',
  'ilt',
  'r',
  'rif',
  '回复',
  '答复',
  '转发',
  '回覆',
])
// A mark may count: `Re[2]:`. Nothing here repeats over itself, so a long subject costs its length.
const markPattern = /^\s*([\p{L}]{1,6})(?:\[\d{1,3}\])?\s{0,3}[:：]/u

/** `AW: Re: WG: 回复: Foo` is about Foo. */
export function baseSubject(subject: string): string {
  let rest = cleanName(subject)
  for (let mark = markPattern.exec(rest); mark !== null; mark = markPattern.exec(rest)) {
    if (!replyMarks.has((mark[1] ?? '').toLowerCase())) break
    rest = rest.slice(mark[0].length)
  }
  return rest.trim()
}

/** One line, at most 200 characters, never empty. */
export function replySubject(subject: string): string {
  const base = baseSubject(subject)
  const whole = `Re: ${base === '' ? '(no subject)' : base}`
  return whole.length <= maxSubject ? whole : `${cutSubject(whole, maxSubject - 1)}…`
}

function cutSubject(text: string, length: number): string {
  return text
    .slice(0, length)
    .toWellFormed()
    .replace(/\ufffd$/, '')
    .trimEnd()
}
