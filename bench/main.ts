// `npm run bench -- accept`: runs a scenario, tells its figures as tables or as JSON lines, and judges them on request.
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { acceptSubjects, connectionCounts, type Results, runAccept } from './accept.ts'
import { type Asked, readArguments } from './arguments.ts'
import { wasQuiet } from './quiet.ts'
import { tableOf, verdictLine } from './report.ts'
import { judge, type Summary, summarize, type Verdict } from './summary.ts'

const usage = `npm run bench -- accept [options]

  --rounds <n>       rounds after the warm-up (5)
  --seconds <n>      length of one run (2)
  --subjects <list>  of ${acceptSubjects.join(',')} (all)
  --json             JSON lines instead of tables
  --check            exit code 1 when an aim is missed
  --profile <folder> write a CPU profile of every subject into the folder
  --help             this text

Everything runs on this machine and on 127.0.0.1. Without --json the JSON lines go to a file in bench/results/.`

const resultsFolder = fileURLToPath(new URL('../bench/results', import.meta.url))

async function main(): Promise<number> {
  let asked: Asked | 'help'
  try {
    asked = readArguments(process.argv.slice(2), ['accept'], acceptSubjects)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
    return 2
  }
  if (asked === 'help') {
    console.log(usage)
    return 0
  }
  const results = await runAccept(asked, (text) => process.stderr.write(`${text}\n`))
  const summaries = summarize(results.samples)
  const verdicts = judge(summaries, connectionCounts[0])
  await tell(asked, results, summaries, verdicts)
  return asked.check && verdicts.some((verdict) => !verdict.isMet) ? 1 : 0
}

async function tell(
  asked: Asked,
  results: Results,
  summaries: readonly Summary[],
  verdicts: readonly Verdict[],
): Promise<void> {
  const machine = machineFacts(asked, results)
  const lines = [
    { type: 'machine', ...machine },
    ...results.samples.map((sample) => ({ type: 'sample', ...sample })),
    ...summaries.map((summary) => ({ type: 'summary', ...summary })),
    ...verdicts.map((verdict) => ({ type: 'verdict', ...verdict })),
  ].map((line) => JSON.stringify(line))
  if (asked.json) {
    console.log(lines.join('\n'))
    return
  }
  const file = join(resultsFolder, `${asked.scenario}-${machine.at.replaceAll(/[:.]/g, '-')}.jsonl`)
  await mkdir(resultsFolder, { recursive: true })
  await writeFile(file, `${lines.join('\n')}\n`)
  console.log(`\n${machine.cores} x ${machine.processor}, Node ${machine.node}, PostgreSQL ${machine.postgres}`)
  console.log(`load average ${machine.loadAverage}, ${asked.rounds} rounds of ${asked.seconds} s\n`)
  for (const connections of connectionCounts) console.log(`${tableOf(summaries, connections)}\n`)
  const busy = results.samples.filter((sample) => !wasQuiet(sample.idleBefore)).length
  console.log(`${busy} of ${results.samples.length} runs began while the machine was busy with something else\n`)
  for (const verdict of verdicts) console.log(verdictLine(verdict))
  console.log(`\nfigures: ${file}`)
}

function machineFacts(asked: Asked, results: Results) {
  return {
    at: new Date().toISOString(),
    scenario: asked.scenario,
    rounds: asked.rounds,
    secondsPerRun: asked.seconds,
    node: process.versions.node,
    postgres: results.postgresVersion ?? 'not used',
    processor: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    loadAverage: loadavg()
      .map((each) => each.toFixed(1))
      .join(' '),
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
// Said outright: a package's exit hook would otherwise end the process with 0.
process.exit(
  await main().catch((error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
    return 1
  }),
)
