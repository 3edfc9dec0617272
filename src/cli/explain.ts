// `parley explain <id>`: what became of a message, told by the running gateway.
import type { Explanation } from '../api/explain/explain.ts'
import type { TimelineEntry, Tone } from '../api/explain/timeline-entry.ts'
import { explanations } from '../api/messages.ts'
import type { Hit } from '../db/explain.ts'
import { durationText } from '../lib/duration-text.ts'
import { printableLine } from '../node/log.ts'
import { exitCodes } from './command-error.ts'
import { operatorCommand } from './operator-command.ts'
import { printPainted } from './output.ts'

/** What the route answers: the story, or what the id may mean. */
type ExplainAnswer = { readonly explanation: Explanation } | { readonly candidates: readonly Hit[] }

export const explainCommand = operatorCommand({
  name: 'explain',
  description: 'Tell what became of a message: receipt, sender, turns, sends, and what to do.',
  examples: ['parley explain 0192f1c2-7d5e-7abc-8def-0123456789ab', 'parley explain 42:17 --json'],
  args: {
    id: {
      type: 'positional',
      required: true,
      description: 'Inbox, turn or outbox id, message id, platform id, delivery id, vendor id',
    },
    connection: {
      type: 'string',
      description: 'Only on this connection, channel/id as parley stats shows it',
      valueHint: 'channel/id',
    },
  },
  async run({ args, ask, show }) {
    const { explain } = explanations.operations
    // The same, but for fields that are left out: a schema calls them undefined.
    const answer = (await ask(explain, { id: args.id, connection: args.connection })) as ExplainAnswer
    if (args.json === true) show(answer, '')
    else printPainted(`${explainText(args.id, answer, readTerminalStyle()).trimEnd()}\n`)
    // Several things go by the id: it is for the operator to choose.
    if ('candidates' in answer) process.exitCode = exitCodes.failed
  },
})

function explainText(id: string, answer: ExplainAnswer, look: StoryLook): string {
  return 'candidates' in answer
    ? renderCandidates(id, answer.candidates, look)
    : renderTimeline(answer.explanation, look)
}

/** Colour is for eyes: never in a pipe, and not where it is unwanted. */
function readTerminalStyle(): StoryLook {
  const { isTTY, columns } = process.stdout
  const isColourful = isTTY === true && (process.env['NO_COLOR'] ?? '') === ''
  return { isColourful, columns: Math.min(columns || 100, 120), now: Date.now() }
}

// Printed as headline, timeline, ids, what to do next.

type StoryLook = { readonly isColourful: boolean; readonly columns: number; readonly now: number }

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

export function renderTimeline({ asked, matched, facts, story }: Explanation, look: StoryLook): string {
  const start = facts.message?.receivedAt ?? facts.turns[0]?.startedAt ?? facts.deliveries[0]?.createdAt
  const titleWidth = Math.max(...story.lines.map((each) => printableLine(each.title).length), 0) + 2
  const head = [
    paintTone(look, 'bold', printableLine(story.headline)),
    paintTone(
      look,
      'dim',
      `${printableLine(asked)} (${printableLine(matched)})${start === undefined ? '' : `, ${agoText(start, look.now)}: ${start}`}`,
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
    ...wrapToWidth(`- ${text}`, look.columns - indent).map((row, index) => indentRow(index === 0 ? row : `  ${row}`)),
    ...(command === null ? [] : [indentRow(`    ${paintTone(look, 'bold', printableLine(command))}`)]),
  ])
  return [
    ...head,
    '',
    ...timeline,
    '',
    'Ids',
    ...ids.map(printableLine).map(indentRow),
    '',
    'What you can do',
    ...(next.length === 0 ? [indentRow('- nothing needs to be done')] : next),
    '',
  ].join('\n')
}

/** Several things go by one id: enough of each to choose. */
export function renderCandidates(asked: string, candidates: readonly Hit[], look: StoryLook): string {
  const rows = candidates.map(
    ({ kind, id, matched, connection, at, state, messageId }) =>
      `${id}  ${kind} on ${connection}, ${state}, ${agoText(at, look.now)} (${matched}${messageId === null || messageId === asked ? '' : `, message ${messageId}`})`,
  )
  return [
    `Several things go by ${printableLine(asked)}. Ask again with one of these ids:`,
    '',
    ...rows.map(printableLine).map(indentRow),
    '',
  ].join('\n')
}

function timelineRows(
  each: TimelineEntry,
  start: string | undefined,
  titleWidth: number,
  look: StoryLook,
): readonly string[] {
  const time = clockTimeOrOffset(each.at, start).padStart(timeWidth)
  const title = paintTone(look, each.tone, printableLine(each.title).padEnd(titleWidth))
  const offset = indent + timeWidth + 2 + titleWidth
  const [first = '', ...rest] = wrapToWidth(each.text, Math.max(30, look.columns - offset))
  const margin = ' '.repeat(offset)
  return [
    indentRow(`${paintTone(look, 'dim', time)}  ${title}${first}`),
    ...rest.map((row) => `${margin}${row}`),
    ...(each.details ?? []).map(
      (row) => `${margin}${paintTone(look, isStackFrame(row) ? 'dim' : each.tone, printableLine(row))}`,
    ),
  ]
}

function isStackFrame(row: string): boolean {
  return row.startsWith('  at ')
}

/** The first moment by the clock, later ones by their distance to it. */
function clockTimeOrOffset(at: string | null, start: string | undefined): string {
  if (at === null) return ''
  if (start === undefined || at === start) return at.slice(11, 23)
  const ms = Date.parse(at) - Date.parse(start)
  return ms < 0 ? `-${durationText(-ms)}` : `+${durationText(ms)}`
}

function agoText(at: string, now: number): string {
  return `${durationText(now - Date.parse(at))} ago`
}

function wrapToWidth(text: string, width: number): readonly string[] {
  const rows: string[] = []
  let row = ''
  for (const word of printableLine(text).split(' ')) {
    const longer = row === '' ? word : `${row} ${word}`
    if (longer.length > width && row !== '') {
      rows.push(row)
      row = word
    } else row = longer
  }
  return [...rows, row]
}

function paintTone({ isColourful }: StoryLook, tone: Tone | 'bold' | 'dim', text: string): string {
  return isColourful && tone !== 'plain' ? `\u001b[${codes[tone]}m${text}\u001b[0m` : text
}

function indentRow(row: string): string {
  return `${' '.repeat(indent)}${row}`
}
