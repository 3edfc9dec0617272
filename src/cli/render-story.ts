// A story as a person reads it in a terminal: headline, timeline, ids, what to do next.

import { oneLine } from '../node/printable.ts'
import type { Explanation } from '../operator/explain.ts'
import type { Hit } from '../operator/explain-store.ts'
import { spanWords } from '../operator/span-words.ts'
import type { StoryLine, Tone } from '../operator/story.ts'

export type StoryLook = { readonly isColourful: boolean; readonly columns: number; readonly now: number }

const codes: Readonly<Record<Tone | 'bold' | 'dim', string>> = {
  plain: '0',
  good: '32',
  bad: '31',
  wait: '33',
  bold: '1',
  dim: '2',
}
const timeWidth = 14
const indent = 2

export function renderStory({ asked, matched, facts, story }: Explanation, look: StoryLook): string {
  const start = facts.message?.receivedAt ?? facts.turns[0]?.startedAt ?? facts.deliveries[0]?.createdAt
  const titleWidth = Math.max(...story.lines.map((each) => oneLine(each.title).length), 0) + 2
  const head = [
    paint(look, 'bold', oneLine(story.headline)),
    paint(
      look,
      'dim',
      `${oneLine(asked)} (${oneLine(matched)})${start === undefined ? '' : `, ${ago(start, look.now)}: ${start}`}`,
    ),
  ]
  const timeline = story.lines.flatMap((each) => timelineRows(each, start, titleWidth, look))
  const ids = [
    ...(facts.message === null ? [] : [`inbox ${facts.message.id}`]),
    ...facts.turns.map((turn) => `turn ${turn.id}`),
    ...facts.deliveries.map((delivery) => `outbox ${delivery.id} (${delivery.purpose}, ${delivery.state})`),
    ...(facts.message === null ? [] : [`trace ${facts.message.traceId}`]),
  ]
  const next = story.next.flatMap(({ text, command }) => [
    ...wrapped(`- ${text}`, look.columns - indent).map((row, index) => pad(index === 0 ? row : `  ${row}`)),
    ...(command === null ? [] : [pad(`    ${paint(look, 'bold', oneLine(command))}`)]),
  ])
  return [
    ...head,
    '',
    ...timeline,
    '',
    'Ids',
    ...ids.map(oneLine).map(pad),
    '',
    'What you can do',
    ...(next.length === 0 ? [pad('- nothing needs to be done')] : next),
    '',
  ].join('\n')
}

/** Several things go by one id: enough of each to choose. */
export function renderCandidates(asked: string, candidates: readonly Hit[], look: StoryLook): string {
  const rows = candidates.map(
    ({ kind, id, matched, connection, at, state, messageId }) =>
      `${id}  ${kind} on ${connection}, ${state}, ${ago(at, look.now)} (${matched}${messageId === null || messageId === asked ? '' : `, message ${messageId}`})`,
  )
  return [
    `Several things go by ${oneLine(asked)}. Ask again with one of these ids:`,
    '',
    ...rows.map(oneLine).map(pad),
    '',
  ].join('\n')
}

function timelineRows(
  each: StoryLine,
  start: string | undefined,
  titleWidth: number,
  look: StoryLook,
): readonly string[] {
  const time = clock(each.at, start).padStart(timeWidth)
  const title = paint(look, each.tone, oneLine(each.title).padEnd(titleWidth))
  const offset = indent + timeWidth + 2 + titleWidth
  const [first = '', ...rest] = wrapped(each.text, Math.max(30, look.columns - offset))
  const margin = ' '.repeat(offset)
  return [
    pad(`${paint(look, 'dim', time)}  ${title}${first}`),
    ...rest.map((row) => `${margin}${row}`),
    ...(each.details ?? []).map((row) => `${margin}${paint(look, isFrame(row) ? 'dim' : each.tone, oneLine(row))}`),
  ]
}

function isFrame(row: string): boolean {
  return row.startsWith('  at ')
}

/** The first moment by the clock, later ones by their distance to it. */
function clock(at: string | null, start: string | undefined): string {
  if (at === null) return ''
  if (start === undefined || at === start) return at.slice(11, 23)
  const ms = Date.parse(at) - Date.parse(start)
  return ms < 0 ? `-${spanWords(-ms)}` : `+${spanWords(ms)}`
}

function ago(at: string, now: number): string {
  return `${spanWords(now - Date.parse(at))} ago`
}

function wrapped(text: string, width: number): readonly string[] {
  const rows: string[] = []
  let row = ''
  for (const word of oneLine(text).split(' ')) {
    const longer = row === '' ? word : `${row} ${word}`
    if (longer.length > width && row !== '') {
      rows.push(row)
      row = word
    } else row = longer
  }
  return [...rows, row]
}

function paint({ isColourful }: StoryLook, tone: Tone | 'bold' | 'dim', text: string): string {
  return isColourful && tone !== 'plain' ? `\u001b[${codes[tone]}m${text}\u001b[0m` : text
}

function pad(row: string): string {
  return `${' '.repeat(indent)}${row}`
}
