// `parley runs events` and `parley replay`: what an agent does as it does it, and a stored message once more through today's code.

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replays } from '../api/messages.ts'
import type { OperationOutput } from '../api/resource.ts'
import { runs } from '../api/runs.ts'
import { type ErrorSource, formatThrownError, type ThrownError } from '../lib/errors.ts'
import type { ReplayReport } from '../turns/replay.ts'
import { usageError } from './command-error.ts'
import { type AskOperation, operatorCommand } from './operator-command.ts'
import { printAnswer, printableLine } from './output.ts'

const idArg = {
  id: {
    type: 'positional',
    required: true,
    description: 'Id of a run, as the list shows it, or the id its client gave it',
  },
} as const

type EventPage = OperationOutput<typeof runs.operations.events>

export const eventsCommand = operatorCommand({
  name: 'events',
  description: 'Print the events of a run, one per line; with --follow until it is over.',
  examples: [
    'parley runs events 0192f1c2-7d5e-7abc-8def-0123456789ab --follow',
    'parley runs events 0192f1c2-7d5e-7abc-8def-0123456789ab --after 41 --json',
  ],
  args: {
    ...idArg,
    after: { type: 'string', default: '-1', description: 'Only those after this number', valueHint: 'number' },
    follow: { type: 'boolean', description: 'Go on until the run is over; with --json one value per line' },
  },
  before({ after }) {
    if (!/^(-1|\d{1,9})$/.test(after)) throw usageError('--after must be the number of an event')
  },
  async run({ args, ask, show }) {
    if (args.follow !== true) {
      const page = await fetchEventsAfter(ask, args.id, Number(args.after))
      const more = page.events.length < pageSize ? [] : [`\nMore: parley runs events ${args.id} --after ${page.next}`]
      return show(
        page,
        page.events.length === 0 ? 'No events.' : [...page.events.map(runEventText), ...more].join('\n'),
      )
    }
    for (let after = Number(args.after), isOver = false; !isOver; ) {
      const page = await fetchEventsAfter(ask, args.id, after)
      for (const event of page.events) printAnswer(args.json, event, runEventText(event))
      after = page.next
      isOver = page.isOver
      if (page.events.length === 0 && !isOver) await new Promise((resolve) => setTimeout(resolve, 500))
    }
  },
})

const pageSize = 500

function fetchEventsAfter(ask: AskOperation, id: string, after: number): Promise<EventPage> {
  return ask(runs.operations.events, { id, after: String(after), limit: pageSize })
}

function runEventText({ seq, createdAt, type, ...rest }: EventPage['events'][number]): string {
  const { attempt, metadata, ...more } = rest as Record<string, unknown>
  if (type === 'exception' && isThrownErrorEvent(metadata)) {
    const { error, source, name, agent } = metadata
    const whose = [source.replaceAll('_', ' '), name, agent === undefined ? undefined : `of ${agent}`].filter(Boolean)
    const head = printableLine(`${seq}  ${createdAt}  ${type}  attempt ${attempt}, ${whose.join(' ')}`)
    return [head, ...formatThrownError(error).map((row) => `     ${printableLine(row)}`)].join('\n')
  }
  return printableLine(`${seq}  ${createdAt}  ${type ?? '-'}  ${JSON.stringify(metadata ?? more)}`)
}

/** As our own gateway writes it; one of another version may not. */
function isThrownErrorEvent(metadata: unknown): metadata is ErrorSource & { readonly error: ThrownError } {
  return typeof metadata === 'object' && metadata !== null && 'error' in metadata && 'source' in metadata
}

// A replay changes nothing.

/** As long as a turn may take, and a little more. */
const timeoutMs = 11 * 60_000

export const replayCommand = operatorCommand({
  name: 'replay',
  description:
    "Run a stored message again through today's code and agent and show the difference; nothing is changed or sent.",
  examples: [
    'parley replay 0192f1c2-7d5e-7abc-8def-0123456789ab',
    'parley replay 0192f1c2-7d5e-7abc-8def-0123456789ab --save test/fixtures',
  ],
  args: {
    id: { type: 'positional', required: true, description: 'Id of a message, a turn or a delivery' },
    save: { type: 'string', description: 'Write a cleaned fixture into this folder', valueHint: 'folder' },
    'with-text': { type: 'boolean', description: 'With --save: keep the texts, less names, ids and secrets' },
  },
  before(args) {
    if (args['with-text'] === true && args.save === undefined) throw usageError('--with-text only counts with --save')
  },
  async run({ args, ask, show }) {
    const fixtureKind = args.save === undefined ? 'none' : args['with-text'] === true ? 'with_text' : 'cleaned'
    const { replay } = await ask(replays.operations.replay, { id: args.id, fixture: fixtureKind }, { timeoutMs })
    const { fixture, ...report } = replay
    const saved = args.save === undefined ? null : await saveFixture(args.save, args.id, fixture)
    show({ replay: report, saved }, `${replayReportText(report)}${saved === null ? '' : `\n\nSaved: ${saved}`}`)
  },
})

async function saveFixture(folder: string, id: string, fixture: ReplayReport['fixture']): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `${id}.json`)
  await writeFile(path, `${JSON.stringify(fixture, null, 2)}\n`, { mode: 0o600 })
  return path
}

function replayReportText({
  isSame,
  diff,
  today,
  steps,
  notes,
  turnId,
  connection,
  agent,
}: Omit<ReplayReport, 'fixture'>): string {
  const decision =
    today.outcome === 'stopped'
      ? 'Stopped: the agent wants to do something that is not in the journal; it was not done.'
      : isSame
        ? 'No difference: today the same would be sent.'
        : 'Different (- before, + today):'
  const lines = [
    `${connection}, agent ${agent}, ${turnId === null ? 'never taken into a turn' : `turn ${turnId}`}`,
    ...notes.map((note) => `note: ${note}`),
    ...namesLineUnlessEmpty('from the journal', steps.replayed),
    ...namesLineUnlessEmpty('would run', steps.wouldRun),
    ...namesLineUnlessEmpty('in the journal, not asked for today', steps.unused),
    '',
    decision,
    ...(isSame ? [] : diff.map(printableLine)),
  ]
  return lines.join('\n')
}

function namesLineUnlessEmpty(title: string, names: readonly string[]): readonly string[] {
  return names.length === 0 ? [] : [`${title}: ${names.map(printableLine).join(', ')}`]
}
