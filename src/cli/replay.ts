// `parley replay`: a stored message through today's code and agent, and how the answer differs. Changes nothing.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReplayReport } from '../turns/replay.ts'
import { wrongUsage } from './exit.ts'
import { operatorCommand } from './operator.ts'
import { printableLine } from './output.ts'

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
    if (args['with-text'] === true && args.save === undefined) throw wrongUsage('--with-text only counts with --save')
  },
  async run({ args, callGateway, show }) {
    const wanted = args.save === undefined ? '' : `?fixture=${args['with-text'] === true ? 'with_text' : 'cleaned'}`
    const path = `/admin/replay/${encodeURIComponent(args.id)}${wanted}`
    const { replay } = await callGateway<{ replay: ReplayReport }>('POST', path, { timeoutMs })
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
  const verdict =
    today.outcome === 'stopped'
      ? 'Stopped: the agent wants to do something that is not in the journal; it was not done.'
      : isSame
        ? 'No difference: today the same would be sent.'
        : 'Different (- before, + today):'
  const lines = [
    `${connection}, agent ${agent}, ${turnId === null ? 'never taken into a turn' : `turn ${turnId}`}`,
    ...notes.map((note) => `note: ${note}`),
    ...namesLine('from the journal', steps.replayed),
    ...namesLine('would run', steps.wouldRun),
    ...namesLine('in the journal, not asked for today', steps.unused),
    '',
    verdict,
    ...(isSame ? [] : diff.map(printableLine)),
  ]
  return lines.join('\n')
}

function namesLine(title: string, names: readonly string[]): readonly string[] {
  return names.length === 0 ? [] : [`${title}: ${names.map(printableLine).join(', ')}`]
}
